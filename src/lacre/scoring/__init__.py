"""Every number that is published, right and with its interval: pure, arrays and records in, records out.

:mod:`lacre.scoring.estimates` has the records that all others return.
"""
