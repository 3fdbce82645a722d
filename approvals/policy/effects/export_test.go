package effects

var ReadTables = readTables
