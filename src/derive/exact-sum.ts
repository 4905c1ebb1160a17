/** From here on sums of numbers could overflow while the whole sum does not. Numbers of this size are integers. */
const LARGE = 2 ** 960
/** Every finite number is a multiple of 2 ** -SCALE. */
const SCALE = 1074n

/**
 * A sum of finite numbers, which are added and removed in any order. It is exact, and rounded once, when it is read: so it
 * depends on the numbers alone. The parts are those of Shewchuk's "Adaptive Precision Floating-Point Arithmetic" (1997).
 */
export class ExactSum {
  #integer = 0
  /** Numbers whose sum is the rest: of growing size, without common bits. */
  #parts: number[] | undefined
  #large = 0n

  add(value: number): void {
    const sum = this.#integer + value
    if (Number.isSafeInteger(value) && Number.isSafeInteger(sum)) this.#integer = sum
    else if (Math.abs(value) >= LARGE) this.#large += BigInt(value)
    else this.#addPart(value)
  }

  remove(value: number): void {
    this.add(-value)
  }

  /** Beyond the largest number it is Infinity. */
  get value(): number {
    const parts = this.#parts ?? []
    if (this.#large !== 0n) return rounded([...parts, this.#integer].reduce(withPart, this.#large << SCALE))
    if (parts.length === 0) return this.#integer
    const all = this.#integer === 0 ? parts : withNumber([...parts], this.#integer)
    return roundedParts(all) + 0 // Not -0.
  }

  #addPart(value: number): void {
    const parts = withNumber(this.#parts ?? [], value)
    this.#parts = parts.length === 0 ? undefined : parts
  }
}

function withPart(scaled: bigint, part: number): bigint {
  return scaled + scaledOf(part)
}

function withNumber(parts: number[], value: number): number[] {
  let [rest, kept] = [value, 0]
  for (const part of parts) {
    const [large, small] = Math.abs(rest) < Math.abs(part) ? [part, rest] : [rest, part]
    rest = large + small
    const lost = small - (rest - large)
    if (lost !== 0) parts[kept++] = lost
  }
  parts.length = kept
  if (rest !== 0) parts.push(rest)
  return parts
}

/** Returns the sum of parts, rounded to the nearest number, half to even. */
function roundedParts(parts: readonly number[]): number {
  let at = parts.length - 1
  let sum = parts[at] ?? 0
  while (at > 0) {
    const part = parts[--at] ?? 0
    const before = sum
    sum += part
    const lost = part - (sum - before)
    if (lost === 0) continue
    // The sum was rounded. If that was a half, the parts below decide.
    const below = parts[at - 1] ?? 0
    const twice = lost * 2
    const next = sum + twice
    return Math.sign(below) === Math.sign(lost) && twice === next - sum ? next : sum
  }
  return sum
}

/** Returns `value * 2 ** SCALE`. */
function scaledOf(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const [high, low] = [bits.getUint32(0), bits.getUint32(4)]
  const exponent = (high >>> 20) & 0x7ff
  const fraction = (BigInt(high & 0xfffff) << 32n) | BigInt(low)
  const size = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1)
  return value < 0 ? -size : size
}

/** Returns the number that is nearest to `scaled / 2 ** SCALE`. */
function rounded(scaled: bigint): number {
  const size = scaled < 0n ? -scaled : scaled
  const spare = BigInt(Math.max(0, size.toString(16).length * 4 - 80))
  // The bits that are left out decide only whether there are some.
  const kept = (size >> spare) | (size & ((1n << spare) - 1n) ? 1n : 0n)
  const value = Number(kept) * 2 ** Number(spare - SCALE)
  return scaled < 0n ? -value : value
}
