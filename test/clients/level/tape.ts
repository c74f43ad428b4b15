import t, { type Test } from 'tap'

/** A test as tape has it, as far as the suite of abstract-level uses that. */
class TapeTest {
  readonly #test: Test
  /** Resolves when the test says that it is over, or has asserted all that it planned. */
  readonly ended: Promise<void>
  #end: () => void = () => {}
  #asserted = 0
  #planned: number | undefined

  constructor(test: Test) {
    this.#test = test
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  plan(assertions: number): void {
    this.#planned = assertions
  }

  end(): void {
    this.#end()
  }

  pass(message = ''): void {
    this.#assert(true, message)
  }

  fail(message = ''): void {
    this.#assert(false, message)
  }

  ok(value: unknown, message = ''): void {
    this.#assert(Boolean(value), message)
  }

  is(found: unknown, wanted: unknown, message = ''): void {
    this.#test.equal(found, wanted, message)
    this.#count()
  }

  isNot(found: unknown, other: unknown, message = ''): void {
    this.#test.not(found, other, message)
    this.#count()
  }

  same(found: unknown, wanted: unknown, message = ''): void {
    this.#test.strictSame(found, wanted, message)
    this.#count()
  }

  throws(run: () => void, isRight: (error: unknown) => boolean): void {
    try {
      run()
    } catch (error) {
      this.#assert(isRight(error), `throws ${error}`)
      return
    }
    this.fail('does not throw')
  }

  doesNotThrow(run: () => void): void {
    this.#test.doesNotThrow(run)
    this.#count()
  }

  checkPlan(): void {
    if (this.#planned !== undefined) this.#test.equal(this.#asserted, this.#planned, 'as many as planned')
  }

  #assert(isRight: boolean, message = ''): void {
    this.#test.ok(isRight, message)
    this.#count()
  }

  #count(): void {
    this.#asserted++
    if (this.#asserted === this.#planned) this.#end()
  }
}

/** Runs what was written as a test for tape. */
export function tape(name: string, run: (tape: TapeTest) => unknown): void {
  void t.test(name, async (t) => {
    const tape = new TapeTest(t)
    const returned = run(tape)
    await (returned instanceof Promise ? returned : tape.ended)
    tape.checkPlan()
  })
}
