// `npm run image-test`: does what deploy/Dockerfile says in folders of Debian, without a container engine, and runs the server out of the last
// one as the image would: not as root, on a read-only file system. Needs root, debootstrap and a network; Node is this machine's.
// IMAGE_TEST_MIRROR names another mirror of Debian.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const { IMAGE_TEST_MIRROR: mirror } = process.env
const DOCKERFILE = 'deploy/Dockerfile'
/** The base image's. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const TOKEN = 'a token for the test of the image'.replaceAll(' ', '-')
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
/** What commands of a build need beside the file system: devices and processes. */
const MOUNTS = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc"'
/** The same for the server: nothing but /data can be written. */
const READ_ONLY = `mount --bind "$0" "$0" && mount --bind "$0/data" "$0/data" && ${MOUNTS} && mount -o remount,bind,ro "$0"`

function say(text) {
  console.error(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${text}`)
}

function run(command, args, options = {}) {
  return execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
}

/** The arguments with which `unshare` runs a command in a folder as its root, with mounts that end with the command. */
function inside({ root, user = '0:0', folder }, mounts, command) {
  const script = `${mounts} && exec chroot --userspec=${user} "$0" /bin/sh -c 'cd "$0" && exec "$@"' "$@"`
  return ['--mount', 'sh', '-c', script, root, folder, ...command]
}

/** Instructions with their texts, lines that go on joined. */
function instructions() {
  const lines = readFileSync(DOCKERFILE, 'utf8')
    .replace(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
  return lines.split('\n').flatMap((line) => {
    const [, name, text] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    return name === undefined ? [] : [{ name, text }]
  })
}

/** Debian as the base image has it, with Node and npm of this machine. */
function makeBase(base) {
  run('debootstrap', [
    '--variant=minbase',
    '--include=ca-certificates,libstdc++6',
    'bookworm',
    base,
    ...(mirror ? [mirror] : []),
  ])
  const npm = join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm')
  cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true })
  run('ln', ['-s', '../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm')])
  // What this machine needs to reach the network.
  for (const path of ['/etc/resolv.conf', CERTIFICATES]) cpSync(path, join(base, path), { dereference: true })
  cpSync(process.execPath, join(base, 'usr/local/bin/node'))
}

/** As COPY does: contents of folders, and files under their names where the target is a folder. */
function copy(sources, from, target, isFolder) {
  mkdirSync(isFolder ? target : dirname(target), { recursive: true })
  for (const source of sources) {
    const path = join(from, source)
    if (statSync(path).isDirectory()) {
      mkdirSync(target, { recursive: true })
      run('cp', ['-a', `${path}/.`, target])
    } else run('cp', ['-a', path, isFolder ? join(target, basename(path)) : target])
  }
}

/** Follows the Dockerfile; gives its last stage. */
function build(work, context) {
  const base = join(work, 'base')
  makeBase(base)
  const stages = new Map()
  let stage
  for (const { name, text } of instructions()) {
    say(`${name} ${text}`)
    if (name === 'FROM') {
      const [, alias = 'image'] = / AS (\w+)$/.exec(text) ?? []
      if (!/^node:\S+-bookworm-slim( |$)/.test(text)) throw new Error(`the test has no other base: ${text}`)
      stage = { root: join(work, alias), folder: '/', env: { PATH } }
      run('cp', ['-a', base, stage.root])
      stages.set(alias, stage)
    } else if (name === 'RUN') {
      const env = { ...stage.env, npm_config_cafile: CERTIFICATES }
      run('unshare', inside(stage, MOUNTS, ['/bin/sh', '-c', text]), { env })
    } else if (name === 'COPY') {
      const words = text.split(' ')
      const from = words[0].startsWith('--from=')
        ? stages.get(words.shift().slice('--from='.length)).root
        : context
      const target = words.pop()
      const isFolder = target.endsWith('/') || words.length > 1
      copy(words, from, join(stage.root, resolve(stage.folder, target)), isFolder)
    } else if (name === 'WORKDIR') {
      stage.folder = text
      mkdirSync(join(stage.root, text), { recursive: true })
    } else if (name === 'ENV') {
      for (const pair of text.split(' ')) Object.assign(stage.env, Object.fromEntries([pair.split('=')]))
    } else if (name === 'USER') stage.user = text
    else if (name === 'HEALTHCHECK') stage.health = JSON.parse(/CMD (\[.*\])$/.exec(text)[1])
    else if (name === 'ENTRYPOINT') stage.entry = JSON.parse(text)
    else if (name === 'CMD') stage.command = JSON.parse(text)
    else if (!['ARG', 'VOLUME', 'EXPOSE'].includes(name)) throw new Error(`unknown instruction ${name}`)
  }
  return stage
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return String(port)
}

async function untilTrue(what, isSo) {
  const end = Date.now() + 120_000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`${what}: not within two minutes`)
    await setTimeout(500)
  }
  say(what)
}

/** Runs the image's server and asks it. */
async function tryOut(stage) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...stage.env,
    WARPDEX_PORT: port,
    WARPDEX_TOKEN: TOKEN,
    WARPDEX_URL: url.replace('http', 'ws'),
  }
  const asImage = (command) => inside(stage, READ_ONLY, command)
  const succeeds = (command) => {
    try {
      return execFileSync('unshare', asImage(command), {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      }).toString()
    } catch {
      return undefined
    }
  }
  if (succeeds(['/usr/bin/touch', '/opt/warpdex/mark', '/tmp/mark']) !== undefined)
    throw new Error('it can be written')
  const server = spawn('unshare', asImage([...stage.entry, ...stage.command]), { env, stdio: 'inherit' })
  const ended = once(server, 'exit')
  try {
    await untilTrue('healthy', () => succeeds(stage.health) !== undefined)
    await untilTrue('ready', async () => (await fetch(`${url}/ready`)).ok)
    const warpdex = (...args) => succeeds([...stage.entry, ...args])
    warpdex('create', 'cities', '--key', 'u32', '--payload', 'text', '--unique')
    warpdex('put', 'cities', '2988507', 'Paris')
    if (warpdex('get', 'cities', '2988507') !== '2988507\tParis\n')
      throw new Error('what was put is not there')
    say('written and read')
    server.kill('SIGTERM')
    const [code] = await ended
    if (code !== 0) throw new Error(`the server ended with ${code}`)
    if (succeeds(stage.health) !== undefined) throw new Error('healthy without a server')
  } finally {
    server.kill('SIGKILL')
  }
}

if (process.getuid?.() !== 0) throw new Error('it changes roots, and so must be run by root')
const work = mkdtempSync(join(tmpdir(), 'warpdex-image-'))
try {
  const context = join(work, 'context')
  mkdirSync(context)
  run('sh', [
    '-c',
    'git ls-files -z | tar --null --files-from=- --create | tar --extract --directory="$0"',
    context,
  ])
  const stage = build(work, context)
  run('du', ['-sh', stage.root])
  await tryOut(stage)
  say('the image is sound')
} finally {
  rmSync(work, { recursive: true, force: true })
}
