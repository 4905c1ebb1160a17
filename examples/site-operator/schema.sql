-- A row of sites is what should be; rows of workers are what is. `deleted` is set instead of a DELETE: the operator then
-- deletes the row, after the last worker of the site.
CREATE TABLE sites (
  name text PRIMARY KEY,
  page text NOT NULL,
  workers int NOT NULL CHECK (workers BETWEEN 0 AND 20),
  deleted boolean NOT NULL DEFAULT false,
  running int NOT NULL DEFAULT 0
);
CREATE TABLE workers (site text NOT NULL, n int NOT NULL, page text NOT NULL, PRIMARY KEY (site, n));
-- Not a column of sites: a run must not cause the next one.
CREATE TABLE fences (site text PRIMARY KEY, fence bigint NOT NULL);
