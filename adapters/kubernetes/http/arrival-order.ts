let last = 0

/** Tells what came before what, whatever clocks say: each is more than all before it. */
export function nextArrival(): number {
  return ++last
}
