import random, sqlite3, sys

path, seed = sys.argv[1], sys.argv[2]
draw = random.Random(seed)
db = sqlite3.connect(path, timeout=30, isolation_level=None)
db.execute("PRAGMA synchronous = NORMAL")
db.execute("PRAGMA foreign_keys = ON")
while True:
    db.execute("BEGIN IMMEDIATE")
    for _ in range(draw.randint(1, 5)):
        id, code = draw.randint(1, 60), "code %d" % draw.randint(1, 60)
        verb = draw.choice(["INSERT OR REPLACE", "INSERT OR REPLACE", "INSERT OR IGNORE"])
        db.execute(verb + " INTO items VALUES (?, ?, ?)", (id, code, draw.random()))
        # Without the item, which `OR IGNORE` may have left out, a foreign key would end this writer.
        db.execute("INSERT OR REPLACE INTO parts SELECT ?, id FROM items WHERE id = ?", (draw.randint(1, 99), id))
        db.execute("UPDATE OR REPLACE items SET code = ? WHERE id = ?", (code, draw.randint(1, 60)))
        db.execute("DELETE FROM items WHERE id = ?", (draw.randint(1, 60),))
    db.execute(draw.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))
