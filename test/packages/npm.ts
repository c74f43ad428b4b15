import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'

const NO_NETWORK = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT/

/** Runs npm in a folder. @returns whether it did what it was to do; without a network it need not */
export function npm(t: Test, folder: string, args: readonly string[]): boolean {
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=0']
  const { status, stderr } = spawnSync('npm', [...args, ...flags], { cwd: folder, encoding: 'utf8' })
  if (status === 0) return true
  if (NO_NETWORK.test(stderr)) t.comment(`left out, since there is no network: npm ${args.join(' ')}`)
  else t.fail(stderr)
  return false
}
