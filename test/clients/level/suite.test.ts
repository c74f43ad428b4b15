import { createRequire } from 'node:module'
import t from 'tap'
import { WarpdexLevel, type WarpdexLevelOptions } from '../../../clients/level/index.js'
import { serve } from '../cli/run-cli.js'
import { tape } from './tape.js'

/** What abstract-level has databases tested by; its types do not tell of it. */
type Suite = (given: {
  readonly test: typeof tape
  readonly factory: (options?: WarpdexLevelOptions<string, string>) => WarpdexLevel
}) => void

const suite: Suite = createRequire(import.meta.url)('abstract-level/test')

/** Its connection ends with the server: some tests leave theirs open. */
class Database extends WarpdexLevel {
  override _open(options: Parameters<WarpdexLevel['_open']>[0]): Promise<void> {
    return super._open({ ...options, connect: { reconnect: { attempts: 0 } } })
  }
}

const { url } = await serve(t, t.testdir())
let databases = 0

suite({
  test: tape,
  factory: (options) => new Database(url, `database ${databases++}`, options),
})
