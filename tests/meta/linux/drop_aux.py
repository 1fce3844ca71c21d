"""drop_aux.py IN OUT: a perf.data from which the bytes of its second AUX record are gone,

as if the kernel had not told perf of them: the record has no bytes, what follows in the
AUX area moves up.  In place of the bytes stand records that say nothing.
"""
import struct
import sys

AUX, FINISHED_ROUND, AUXTRACE = 11, 68, 71

data = bytearray(open(sys.argv[1], "rb").read())
begin, size = struct.unpack_from("<QQ", data, 40)
aux, chunks = [], []
at = begin
while at < begin + size:
    kind, _, length = struct.unpack_from("<IHH", data, at)
    if kind == AUX:
        aux.append((at, *struct.unpack_from("<QQ", data, at + 8)))
    if kind == AUXTRACE:
        count, offset = struct.unpack_from("<QQ", data, at + 8)
        chunks.append((at, length, count, offset))
        length += count
    at += length
if len({struct.unpack_from("<I", data, at + 40)[0] for at, *_ in chunks}) != 1:
    sys.exit("drop_aux: more than one AUX area")
record, gone_at, gone = [each for each in aux if each[2] != 0][1]
trace, head, count, offset = [
    each for each in chunks if each[3] <= gone_at and gone_at + gone <= each[3] + each[2]][0]
struct.pack_into("<Q", data, record + 16, 0)
for at, where, _ in aux:
    if where > gone_at:
        struct.pack_into("<Q", data, at + 8, where - gone)
for at, _, _, where in chunks:
    if where > gone_at:
        struct.pack_into("<Q", data, at + 16, where - gone)
struct.pack_into("<Q", data, trace + 8, count - gone)
first, end = trace + head + gone_at - offset, trace + head + count
filler = struct.pack("<IHH", FINISHED_ROUND, 0, 8) * (gone // 8)
if gone % 8 != 0:
    sys.exit("drop_aux: an AUX record of no whole words")
data[first:end] = data[first + gone:end] + filler
open(sys.argv[2], "wb").write(data)
print(gone)
