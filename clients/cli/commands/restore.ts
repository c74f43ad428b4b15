import { argument, command, JSON_OUTCOME } from '../command.js'
import { contents, printOutcome } from '../output.js'
import { bytesProgress } from '../progress.js'

export const add = command({
  usage: 'restore <source> <directory>',
  about: 'Check a backup completely, and make a data directory from it',
  positionals: {
    source: argument('Folder of the backup'),
    directory: argument('Data directory to make: missing, or empty; data that is there is never replaced'),
  },
  options: { json: JSON_OUTCOME },
  examples: [['$0 restore /backups/monday warpdex-data', 'then start a server on it']],
  async run({ source, directory, json }) {
    const { restoreBackup } = await import('../../../persistence/backup/restore.js')
    const progress = bytesProgress('restoring')
    const restored = await restoreBackup(source, directory, { onProgress: progress.update }).finally(
      progress.stop,
    )
    const { createdAt, indexes, relations = [] } = restored
    return printOutcome(
      json,
      `${directory}: ${contents(indexes, relations)} as they were at ${createdAt}; start a server with "warpdex serve --directory ${directory}"`,
      { directory, createdAt, indexes: indexes.length, relations: relations.length },
    )
  },
})
