"""What /proc/<pid>/status said of five processes on one machine (Linux 6.18, Python 3.11), its memory lines only.

For the exercise that reads such reports, and for machines that have none.
"""

RECORDED = {
    "read": """\
Name:	python
VmPeak:	   83420 kB
VmSize:	   83420 kB
VmHWM:	   79980 kB
VmRSS:	   79980 kB
RssAnon:	   73492 kB
RssFile:	    6488 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "map": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   79964 kB
VmRSS:	   79964 kB
RssAnon:	    7952 kB
RssFile:	   72012 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "map, untouched": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   14404 kB
VmRSS:	   14404 kB
RssAnon:	    7956 kB
RssFile:	    6448 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "share": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   79976 kB
VmRSS:	   79976 kB
RssAnon:	    7952 kB
RssFile:	    6488 kB
RssShmem:	   65536 kB
VmSwap:	       0 kB
""",
    "read and map": """\
Name:	python
VmPeak:	  148956 kB
VmSize:	  148956 kB
VmHWM:	  145488 kB
VmRSS:	  145488 kB
RssAnon:	   73492 kB
RssFile:	   71996 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
}
