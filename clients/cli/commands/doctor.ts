import { command, flag } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { asJson, printLines } from '../output.js'

export const add = command({
  usage: 'doctor',
  about: 'Check whether this machine has what a server needs',
  options: {
    directory: { type: 'string', default: 'warpdex-data', describe: 'Data directory to look at' },
    host: { type: 'string', default: '127.0.0.1', describe: 'Address that the server is to have' },
    port: { type: 'string', default: '7070', describe: 'Port that it is to have' },
    json: flag('All lines as JSON'),
  },
  examples: [['$0 doctor', 'before the first start, or when a server does not start']],
  epilogue: 'Exit code 0, or 2 if something must be fixed before a server can run.',
  async run({ directory, host, port, json }) {
    const { examine } = await import('../../../src/doctor/doctor.js')
    const lines = await examine({ directory, host, port: Number(port) })
    if (lines.some(({ state }) => state === 'fail')) process.exitCode = ExitCode.error
    if (json) return printLines([asJson(lines)])
    return printLines(
      lines.flatMap(({ state, subject, found, remedy }) => [
        `${state.padEnd(4)}  ${subject.padEnd(14)}  ${found}`,
        ...(remedy === undefined ? [] : [`${' '.repeat(22)}→ ${remedy}`]),
      ]),
    )
  },
})
