"""Audit sets: which rows a person should check, and what the answers say of prior, precision, recall and SCAR.

``sample`` draws the rows and makes the sheet; ``answers`` reads what was filled in, by ``statistics``.
"""

from .answers import AuditResult, answered, audit_answers
from .sample import AuditSample, audit_sample

__all__ = ["AuditResult", "AuditSample", "answered", "audit_answers", "audit_sample"]
