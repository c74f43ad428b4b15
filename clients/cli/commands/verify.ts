import type { Argv } from 'yargs'
import { ExitCode } from '../exit-code.js'
import { asJson, contents, grouped, printLines } from '../output.js'
import { bytesProgress } from '../progress.js'

export function addVerify(cli: Argv): Argv {
  return cli.command(
    'verify [path]',
    'Check every record and checksum of a backup, or of a data directory while its server is stopped',
    (command) =>
      command
        .positional('path', {
          type: 'string',
          default: 'warpdex-data',
          describe: 'Folder of the backup, or data directory',
        })
        .option('json', { type: 'boolean', default: false, describe: 'What was found as JSON' })
        .example('$0 verify /backups/monday', 'before it is needed')
        .epilogue(
          'Nothing is changed. Exit code 0: sound; 1: something is damaged that is not needed; 2: something is lost.',
        ),
    async ({ path, json }) => {
      const { verify } = await import('../../../persistence/backup/restore.js')
      const progress = bytesProgress('checking')
      const verification = await verify(path, { onProgress: progress.update }).finally(progress.stop)
      const { indexes, relations, records, findings, manifest } = verification
      if (findings.length > 0) process.exitCode = ExitCode.miss
      if (findings.some(({ isLoss }) => isLoss)) process.exitCode = ExitCode.error
      if (json) return printLines([asJson(verification)])
      const what = manifest === undefined ? 'data directory' : `backup of ${manifest.createdAt}`
      const result = findings.length === 0 ? 'sound' : `${grouped(findings.length)} problems`
      return printLines([
        ...findings.map(
          (finding) => `${finding.isLoss ? 'lost' : 'damaged'}: ${finding.what}; ${finding.remedy}`,
        ),
        `${path}: ${what}, ${contents(indexes, relations)}, ${grouped(records)} records: ${result}`,
      ])
    },
  )
}
