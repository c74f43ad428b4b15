import type { Argv } from 'yargs'
import { ExitCode } from '../exit-code.js'
import { asJson, printLines } from '../output.js'

const DEFAULT_PORT = 7070

export function addDoctor(cli: Argv): Argv {
  return cli.command(
    'doctor',
    'Look whether this machine has what a server needs, and say what is missing',
    (command) =>
      command
        .option('directory', {
          type: 'string',
          default: 'warpdex-data',
          describe: 'Data directory to look at',
        })
        .option('host', {
          type: 'string',
          default: '127.0.0.1',
          describe: 'Address that the server is to have',
        })
        .option('port', { type: 'string', default: `${DEFAULT_PORT}`, describe: 'Port that it is to have' })
        .option('json', { type: 'boolean', default: false, describe: 'All lines as JSON' })
        .example('$0 doctor', 'before the first start, or when a server does not start')
        .epilogue('Exit code 0, or 2 when something must be mended before a server can run.'),
    async ({ directory, host, port, json }) => {
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
  )
}
