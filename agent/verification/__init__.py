"""From placed to kept: did it help?"""
