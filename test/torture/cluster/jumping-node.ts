// The command line, whose wall clock jumps at SIGUSR2: a day ahead, and back the next time. Nothing but JavaScript reads it there.
const RealDate = Date
const DAY_MS = 86_400_000
let jump = 0

class JumpingDate extends RealDate {
  constructor(...parts: ConstructorParameters<typeof RealDate> | []) {
    super(...((parts.length === 0 ? [JumpingDate.now()] : parts) as ConstructorParameters<typeof RealDate>))
  }

  static override now(): number {
    return RealDate.now() + jump
  }
}

globalThis.Date = JumpingDate as DateConstructor
process.on('SIGUSR2', () => {
  jump = jump === 0 ? DAY_MS : 0
})
await import('../../../clients/cli/main.js')
