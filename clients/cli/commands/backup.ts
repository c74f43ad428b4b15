import { clearInterval, setInterval } from 'node:timers'
import { badRequest } from '../../../protocol/errors.js'
import type { BackupInfo, BackupProgress } from '../../../protocol/replies.js'
import type { Client } from '../../sdk/index.js'
import { command, JSON_OUTCOME, text } from '../command.js'
import { bytesText, contents, printOutcome } from '../output.js'
import { bytesProgress } from '../progress.js'
import { CLIENT_OPTIONS, withClient } from '../session.js'

const POLL_MS = 1000

export const add = command({
  usage: 'backup [destination]',
  about: 'Back up a running server, or with --directory a stopped one',
  positionals: {
    destination: {
      type: 'string',
      describe:
        'Name of the folder to make among the backups of the server, by default the time; with --directory its path',
    },
  },
  options: {
    ...CLIENT_OPTIONS,
    directory: text('Data directory of a stopped server'),
    json: JSON_OUTCOME,
  },
  examples: [
    ['$0 backup monday', 'on the host of a server that was started with --backup-directory'],
    ['$0 backup /backups/monday --directory warpdex-data', 'of a server that is stopped'],
  ],
  epilogue: 'Restore a backup with "warpdex restore"; check one with "warpdex verify".',
  async run(options) {
    const { destination, directory, json } = options
    if (directory === undefined) {
      return withClient(options, async (client) => print(await followed(client, destination), json))
    }
    const { backUpDirectory } = await import('../../../persistence/backup/backup.js')
    if (destination === undefined) {
      throw badRequest('name the folder to make, as in "warpdex backup DEST --directory DIR"')
    }
    const progress = bytesProgress('backing up')
    const written = backUpDirectory(directory, destination, { onProgress: progress.update })
    const { path, bytes, manifest, findings } = await written.finally(progress.stop)
    for (const { what, remedy } of findings) process.stderr.write(`warpdex: ${what}; ${remedy}\n`)
    const { indexes, relations = [] } = manifest
    return print({ path, bytes, indexes: indexes.length, relations: relations.length }, json)
  },
})

/** Asks for a backup, and shows how far it is. */
async function followed(client: Client, name: string | undefined): Promise<BackupInfo> {
  const progress = bytesProgress('backing up')
  const timer = setInterval(async () => {
    const stats = await client.stats().catch(() => undefined)
    const backup = stats?.server.backup as BackupProgress | undefined
    if (backup !== undefined) progress.update(backup)
  }, POLL_MS)
  try {
    return await client.backUp(name)
  } finally {
    clearInterval(timer)
    progress.stop()
  }
}

function print({ path, bytes, indexes, relations }: BackupInfo, json: boolean): Promise<void> {
  const held = contents({ length: indexes }, { length: relations })
  return printOutcome(json, `${path}: ${held}, ${bytesText(bytes)}, checked`, {
    path,
    bytes,
    indexes,
    relations,
  })
}
