import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serve } from '../clients/cli/run-cli.js'
import { makeCertificate } from '../src/server/certificates.js'
import { DOCUMENTS, printsAs, stepsOf, strayCommands } from './blocks.js'
import { Installed } from './installed.js'

// Commands and programs of the documents, one after the other against one server: what they print is what the documents say.

/** The address in documents. */
const SHOWN = 'ws://127.0.0.1:7070'
const folder = t.testdir({ backups: {} })
const server = await serve(t, join(folder, 'data'), {}, ['--backup-directory', join(folder, 'backups')])
const installed = new Installed(folder, { WARPDEX_URL: server.url })

/** Starts the server of a document on another port, and has it print its banner. */
async function startServer(t: Test, text: string, cwd: string): Promise<string> {
  const flags = text.split(' ').slice(3)
  const paths = flags.map((flag) => (/\.(pem|key|json)$/.test(flag) ? join(cwd, flag) : flag))
  const started = await serve(t, join(cwd, 'warpdex-data'), {}, paths)
  await started.stop('SIGTERM')
  return started.banner.replaceAll(new URL(started.url).port, '7070')
}

async function filesOf(cwd: string): Promise<void> {
  mkdirSync(cwd)
  const { tlsCert, tlsKey } = await makeCertificate(cwd, 'server')
  copyFileSync(tlsCert, join(cwd, 'server.pem'))
  copyFileSync(tlsKey, join(cwd, 'server.key'))
  const digest = '0'.repeat(64)
  const tokens = { tokens: [{ name: 'operator', sha256: digest, admin: true }] }
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 })
}

let programs = 0
for (const path of DOCUMENTS) {
  await t.test(path, async (t) => {
    t.same(strayCommands(path), [], 'commands stand where they are run')
    const steps = stepsOf(path)
    if (steps.length === 0) return
    const name = path.replaceAll(/\W/g, '-')
    const cwd = join(folder, name)
    await filesOf(cwd)
    for (const step of steps) {
      const { line, text, output } = step.kind === 'command' ? step.command : step.program
      let printed: string
      if (step.kind === 'program') {
        const file = join(cwd, `program-${++programs}.mjs`)
        writeFileSync(file, text.replaceAll(SHOWN, server.url))
        printed = await installed.run(process.execPath, [file], name)
      } else if (text.startsWith('npx warpdex serve')) printed = await startServer(t, text, cwd)
      else printed = await installed.run('sh', ['-c', text], name)
      if (!printsAs(printed, output)) t.equal(printed, output, `${path}:${line}: ${text.slice(0, 200)}`)
      else t.pass(`${path}:${line}`)
    }
  })
}
