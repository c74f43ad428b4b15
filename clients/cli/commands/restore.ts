import type { BackupManifest } from '../../../persistence/backup/backup-manifest.js'
import { argument, command, JSON_OUTCOME } from '../command.js'
import { contents, printOutcome } from '../output.js'
import { bytesProgress } from '../progress.js'

export const add = command({
  usage: 'restore <source> <directory>',
  about: 'Check a backup completely, and make a data directory from it',
  positionals: {
    source: argument('Folder of the backup; of a replica set of a cluster also s3://BUCKET/PREFIX/CLUSTER-0'),
    directory: argument('Data directory to make: missing, or empty; data that is there is never replaced'),
  },
  options: { json: JSON_OUTCOME },
  examples: [['$0 restore /backups/monday warpdex-data', 'then start a server on it']],
  async run({ source, directory, json }) {
    const {
      createdAt,
      indexes,
      relations = [],
    } = await (source.startsWith('s3:') ? fromS3(source, directory) : fromFolder(source, directory))
    return printOutcome(
      json,
      `${directory}: ${contents(indexes, relations)} as they were at ${createdAt}; start a server with "warpdex serve --directory ${directory}"`,
      { directory, createdAt, indexes: indexes.length, relations: relations.length },
    )
  },
})

async function fromFolder(source: string, directory: string): Promise<BackupManifest> {
  const { restoreBackup } = await import('../../../persistence/backup/restore.js')
  const progress = bytesProgress('restoring')
  return restoreBackup(source, directory, { onProgress: progress.update }).finally(progress.stop)
}

async function fromS3(source: string, directory: string): Promise<BackupManifest> {
  const { restoreFromS3 } = await import('../../../src/cluster/snapshots/open-place.js')
  return restoreFromS3(source, directory, (message) => console.error(`warpdex: ${message}`))
}
