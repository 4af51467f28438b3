"""Why a match was found, and why none was: changed queries, over changed rows, are asked."""
