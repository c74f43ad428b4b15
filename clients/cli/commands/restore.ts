import type { Argv } from 'yargs'
import { contents, printLines } from '../output.js'
import { bytesProgress } from '../progress.js'

export function addRestore(cli: Argv): Argv {
  return cli.command(
    'restore <source> <directory>',
    'Make a data directory from a backup, after a check of all that is in it',
    (command) =>
      command
        .positional('source', { type: 'string', demandOption: true, describe: 'Folder of the backup' })
        .positional('directory', {
          type: 'string',
          demandOption: true,
          describe: 'Data directory to make: missing, or empty; data that is there is never replaced',
        })
        .example('$0 restore /backups/monday warpdex-data', 'then start a server on it'),
    async ({ source, directory }) => {
      const { restoreBackup } = await import('../../../persistence/backup/restore.js')
      const progress = bytesProgress('restoring')
      const {
        createdAt,
        indexes,
        relations = [],
      } = await restoreBackup(source, directory, {
        onProgress: progress.update,
      }).finally(progress.stop)
      return printLines([
        `${directory}: ${contents(indexes, relations)} as they were at ${createdAt}; start a server with "warpdex serve --directory ${directory}"`,
      ])
    },
  )
}
