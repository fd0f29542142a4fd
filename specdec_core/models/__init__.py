"""Language models behind one small protocol (see ``protocol``)."""
