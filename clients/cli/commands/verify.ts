import { command, flag } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { asJson, contents, counted, grouped, printLines } from '../output.js'
import { bytesProgress } from '../progress.js'

export const add = command({
  usage: 'verify [path]',
  about: 'Check every record and checksum of a backup, or of a data directory while its server is stopped',
  positionals: {
    path: { type: 'string', default: 'warpdex-data', describe: 'Folder of the backup, or data directory' },
  },
  options: { json: flag('The findings as JSON') },
  examples: [['$0 verify /backups/monday', 'before it is needed']],
  epilogue:
    'Nothing is changed. Exit code 0: sound; 1: something is damaged that is not needed; 2: something is lost.',
  async run({ path, json }) {
    const { verify } = await import('../../../persistence/backup/restore.js')
    const progress = bytesProgress('checking')
    const verification = await verify(path, { onProgress: progress.update }).finally(progress.stop)
    const { indexes, relations, records, findings, manifest } = verification
    if (findings.length > 0) process.exitCode = ExitCode.miss
    if (findings.some(({ isLoss }) => isLoss)) process.exitCode = ExitCode.error
    if (json) return printLines([asJson(verification)])
    const kind = manifest === undefined ? 'data directory' : `backup of ${manifest.createdAt}`
    const result = findings.length === 0 ? 'sound' : counted(findings.length, 'problem', 'problems')
    return printLines([
      ...findings.map(({ isLoss, what, remedy }) => `${isLoss ? 'lost' : 'damaged'}: ${what}; ${remedy}`),
      `${path}: ${kind}, ${contents(indexes, relations)}, ${grouped(records)} records: ${result}`,
    ])
  },
})
