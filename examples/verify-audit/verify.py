"""Verifies an exported audit log of heldcall: python3 verify.py audit.jsonl [KEY...]

Exit code 0 if it is whole, else 1 and the first bad entry. KEY is what `heldcall audit key` prints.
The standard library has no ed25519 signatures, so their verification (RFC 8032) is here.
"""
import base64, hashlib, json, re, sys

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

def add(a, b):
    c, d = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    e, f = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    return (d - c) * (f - e) % P, (f + e) * (d + c) % P, (f - e) * (f + e) % P, (d - c) * (d + c) % P

def multiply(n, a):
    result = (0, 1, 1, 0)
    for bit in bin(n)[2:]:
        result = add(result, result)
        result = add(result, a) if bit == "1" else result
    return result

def point(b):
    y = int.from_bytes(b, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - square) % P == 0 and y < P, "not a point of the curve"
    x = x if x % 2 == b[31] >> 7 else P - x
    return x, y, 1, x * y % P

def signed(key, message, signature):
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    base = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    a, b = multiply(s, base), add(point(signature[:32]), multiply(h, point(key)))
    return s < L and (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0

TAIL = re.compile(rb',"seq":(\d+),"prev_hash":"([0-9a-f]*)","hash":"([0-9a-f]{64})"}$')
hashes, seq, begin, keys = {}, 0, 0, sys.argv[2:]
for line in open(sys.argv[1], "rb").read().split(b"\n")[:-1]:
    tail = TAIL.search(line)
    if seq == 0:  # a log that begins later needs a checkpoint that states so
        begin = int(tail[1]) if tail else 1
        seq, hashes[begin - 1] = begin - 1, tail[2].decode() if tail and begin > 1 else ""
    seq += 1
    if not tail or int(tail[1]) != seq or tail[2].decode() != hashes[seq - 1] or hashlib.sha256(line[: tail.start(3) - 9]).hexdigest() != tail[3].decode():
        sys.exit(f"entry {seq} is bad")
    hashes[seq] = tail[3].decode()
    if c := json.loads(line).get("checkpoint"):
        text = "heldcall checkpoint v1\n{replica}\n{time}\n{seq} {hash}\n{first} {first_hash}\n".format(**c)
        if keys and c["key"] not in keys or not signed(base64.b64decode(c["key"]), text.encode(), base64.b64decode(c["signature"])):
            sys.exit(f"entry {seq} has a bad signature")
        if c["seq"] >= seq:
            sys.exit(f"entry {seq} is a checkpoint of no entry before it")
        if hashes.get(c["seq"], c["hash"]) != c["hash"]:
            sys.exit(f"entry {c['seq']} is not the one that was signed")
        begin = 1 if hashes.get(c["first"]) == c["first_hash"] and c["first"] >= begin else begin
sys.exit(f"entry {begin} is not the first of the log" if begin > 1 else None)
