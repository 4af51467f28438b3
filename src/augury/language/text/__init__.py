"""Canonical spelling, part by part; `augury.language.printer` joins the parts to statements."""
