"""What one lesson alone needs, a folder each: its instruments and charts. None imports from a later
lesson's.
"""
