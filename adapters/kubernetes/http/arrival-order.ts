/** A logical clock: each number is larger than all earlier ones, whatever the system clock says. */
export class ArrivalOrder {
  #last = 0

  next(): number {
    return ++this.#last
  }
}
