import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cliOf, helpsOf, serve } from './run-cli.js'

const directory = t.testdir()

t.test('the commands on one server, from creating an index to dropping it', async (t) => {
  const server = await serve(t, join(directory, 'data'))
  const cli = cliOf({ WARPDEX_URL: server.url })
  t.match(server.banner, /^warpdex \d[\s\S]*adapter .*SwiftShader[\s\S]*npx warpdex stats/)
  t.ok(server.banner.split('\n').length < 24, 'the banner fits a screen')

  t.match(await cli(['create', 'towns', '--key', 'i32', '--payload', 'bytes']), { code: 0, out: 'created\n' })
  t.match(await cli(['put', 'towns', '-5', 'Ys']), { code: 0, out: 'inserted\n' })
  t.match(await cli(['insert', 'towns', '7', 'Vineta', '--if-exists', 'keep']), {
    code: 0,
    out: 'inserted\n',
  })
  t.match(await cli(['insert', 'towns', '7', 'Kitezh', '--if-exists', 'keep']), {
    code: 1,
    out: /there already/,
  })
  t.match(await cli(['insert', 'towns', '7', 'Rungholt']), { code: 0 })

  t.same(await cli(['watch', 'towns', '--from', '1.1.0', '--limit', '2', '--hex']), {
    code: 0,
    out: `${[
      '{"position":"1.1.1","op":"put","key":-5,"payload":{"hex":"5973"}}',
      '{"position":"1.1.2","op":"insert","key":7,"payload":{"hex":"56696e657461"}}',
    ].join('\n')}\n`,
    err: '',
  })

  t.same(await cli(['get', 'towns', '-5', '7', '8']), {
    code: 1,
    out: '-5\tYs\n7\tVineta\n8\t(not found)\n',
    err: '',
  })
  t.match(await cli(['get', 'towns', '7', '--all']), { code: 0, out: '7\tVineta\tRungholt\n' })
  t.match(await cli(['get', 'towns', '7', '8', '--all', '--json']), {
    code: 1,
    out: '{"key":7,"payloads":["Vineta","Rungholt"]}\n{"key":8,"payloads":[]}\n',
  })
  t.match(await cli(['get', 'towns', '--hex', '--', '-5']), { code: 0, out: '-5\t0x5973\n' })

  t.match(await cli(['get', 'towns', '-5', '8', '--sequences']), {
    code: 1,
    out: '-5\tYs\t0\n8\t(not found)\n',
  })
  t.match(await cli(['get', 'towns', '7', '8', '--sequences', '--json']), {
    code: 1,
    out: '{"key":7,"payload":"Vineta","sequence":0}\n{"key":8,"payload":null}\n',
  })
  t.match(await cli(['get', 'towns', '7', '--sequences', '--all']), {
    code: 2,
    err: /--all takes no --sequences/,
  })
  t.same(await cli(['next', 'towns', '-5']), { code: 0, out: '7\tVineta\t0\n', err: '' })
  t.match(await cli(['next', 'towns', '7', '--sequence', '0']), { code: 0, out: '7\tRungholt\t1\n' })
  t.match(await cli(['next', 'towns', '7', '--sequence', '1', '--reverse', '--steps', '9']), {
    code: 0,
    out: '7\tVineta\t0\n-5\tYs\t0\n',
  })
  t.match(await cli(['next', 'towns', '--json', '--hex', '--', '-6']), {
    code: 0,
    out: '{"key":-5,"payload":{"hex":"5973"},"sequence":0}\n',
  })
  t.same(await cli(['next', 'towns', '7']), { code: 1, out: '', err: '' })
  t.match(await cli(['next', 'towns', '7', '--sequence', 'x']), {
    code: 2,
    err: /--sequence is a whole number/,
  })
  t.match(await cli(['next', 'towns', '7', '--strategy', 'directed']), { code: 2, err: /no partitions/ })

  t.match(await cli(['entries', 'towns', '--reverse', '--limit', '2']), {
    code: 0,
    out: '7\tRungholt\n7\tVineta\n',
  })
  t.match(await cli(['entries', 'towns', '--from', '-9', '--to', '0', '--json']), {
    code: 0,
    out: '{"key":-5,"payload":"Ys"}\n',
  })

  t.match(await cli(['entries', 'towns', '--only', 'keys']), { code: 0, out: '-5\n7\n7\n' })
  t.match(await cli(['entries', 'towns', '--only', 'payloads', '--from', '7', '--json']), {
    code: 0,
    out: '{"payload":"Vineta"}\n{"payload":"Rungholt"}\n',
  })
  t.match(await cli(['entries', 'towns', '--only', 'keys', '--limit', '1', '--json']), {
    out: '{"key":-5}\n',
  })
  t.same(await cli(['count', 'towns']), { code: 0, out: '3\n', err: '' })
  t.match(await cli(['count', 'towns', '--from', '7', '--json']), { code: 0, out: '{"count":2}\n' })
  t.match(await cli(['clear', 'towns']), { code: 2, err: /--from, --to or --prefix, or --all/ })
  t.match(await cli(['clear', 'towns', '--from', '8', '--all']), { code: 2, err: /or --all/ })
  t.match(await cli(['clear', 'towns', '--from', '8']), { code: 0, out: '0 deleted\n' })
  t.same(await cli(['rename', 'towns', 'places']), { code: 0, out: 'renamed\n', err: '' })
  t.match(await cli(['get', 'towns', '7']), { code: 2, err: /no index "towns"/ })
  t.match(await cli(['create', 'towns', '--key', 'i32', '--payload', 'bytes']), { code: 0 })
  t.match(await cli(['rename', 'places', 'towns']), { code: 2, err: /there is an index "towns" already/ })
  t.same(await cli(['swap', 'towns', 'places']), { code: 0, out: 'swapped\n', err: '' })
  t.match(await cli(['drop', 'places']), { code: 0 })
  t.match(await cli(['delete', 'towns', '7', '--payload', 'Vineta']), { code: 0, out: '7\tdeleted\n' })
  t.match(await cli(['delete', 'towns', '8']), { code: 1, out: '8\t(not found)\n' })
  t.match(await cli(['delete', 'towns', '7', '8', '--json']), {
    code: 1,
    out: '{"key":7,"deleted":true}\n{"key":8,"deleted":false}\n',
  })

  t.match(await cli(['put', 'towns', '8', 'Atlantis', '--json']), { out: '{"outcome":"inserted"}\n' })
  t.match(await cli(['clear', 'towns', '--from', '8', '--json']), { out: '{"deleted":1}\n' })
  t.match(await cli(['list']), { code: 0, out: /towns +i32 +bytes/ })
  t.match(await cli(['stats']), { code: 0, out: /adapter .*slow[\s\S]*towns +i32 → bytes, CSS-tree +1 +1 / })
  const { out } = await cli(['stats', 'towns', '--json'])
  t.match(JSON.parse(out), { name: 'towns', keyType: 'i32', keys: 1, payloads: 1 })
  t.match(await cli(['snapshot']), { code: 0, out: /towns +\d+ +\d/ })
  t.match(JSON.parse((await cli(['snapshot', 'towns', '--json'])).out), { index: 'towns' })

  t.match(await cli(['drop', 'towns']), { code: 0, out: 'dropped\n' })
  t.match(await cli(['drop', 'towns', '--if-exists', '--json']), { out: '{"dropped":false}\n' })
  t.match(await cli(['get', 'towns', '7']), { code: 2, out: '', err: /^warpdex: UNKNOWN_INDEX: .*\n$/ })
  t.same(await server.stop('SIGINT'), [0, null])
})

t.test('help, for every command with an example', async (t) => {
  const cli = cliOf({})
  const { code, out } = await cli(['--help'])
  t.equal(code, 0)
  const commands = Array.from(out.matchAll(/^ {2}warpdex ([\w-]+)/gm), ([, name]) => name)
  const expected = [
    'serve',
    'create',
    'list',
    'drop',
    'rename',
    'swap',
    'put',
    'insert',
    'get',
    'lookup',
    'next',
    'explain',
    'entries',
    'count',
    'watch',
    'query',
    'sql',
    'delete',
    'delete-rows',
    'update-rows',
    'clear',
    'import',
    'relations',
    'stats',
    'slow',
    'calibrate',
    'snapshot',
    'token',
    'backup',
    'restore',
    'verify',
    'doctor',
    'cluster',
    'completion',
  ]
  t.same(commands, expected)
  t.same(await cli([]), await cli(['--help']), 'what a command line without a command prints')
  const own = commands.filter((command) => command !== 'completion')
  const helps = await helpsOf(own)
  t.equal(helps.length, own.length)
  for (const help of helps) t.match(help, /^warpdex [\w-]+[\s\S]*Examples:/)
  const serveHelp = { code: 0, out: /--snapshot-log-bytes .*WARPDEX_SNAPSHOT_LOG_BYTES/ }
  t.match(await cli(['serve', '--help']), serveHelp)
  for (const help of helps) t.match(help, /--json|--log-format|explain get/, 'each has a form for programs')
  t.match(await cli(['completion']), { code: 0, out: /begin-warpdex-completions/ })
  t.match(await cli(['--get-yargs-completions', 'warpdex', 'relations', '--']), { out: /--json/ })
  t.match(await cli(['--version']), { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
})

t.test('what is wrong is said in one line, with exit code 2', async (t) => {
  const cli = cliOf({ WARPDEX_URL: 'ws://127.0.0.1:9' })
  const wrong = async (args: string[], expected: RegExp) => {
    const { code, out, err } = await cli(args)
    t.match({ code, out, err }, { code: 2, out: '', err: expected })
    t.match(err, /^warpdex: [^\n]+\n$/)
    t.notMatch(err, 'BAD_REQUEST', 'a code that says no more than the message')
  }
  await wrong(['gett'], /warpdex: there is no command "gett"; did you mean "get"\?; --help/)
  await wrong(['fetch-all-of-it'], /warpdex: there is no command "fetch-all-of-it"; --help/)
  await wrong(['foo'], /warpdex: there is no command "foo"; --help/)
  await wrong(
    ['import', 'towns', 'f', '--key-column', 'a'],
    /warpdex: --key-column needs --payload-column; --help/,
  )
  await wrong(['put', 'towns', '1'], /warpdex: too few arguments: 2 of at least 3; --help/)
  await wrong(['get', 'towns', '1', '--frist'], /warpdex: .*frist/)
  await wrong(['get', 'towns', '1'], /CONNECTION_LOST: .*127\.0\.0\.1:9: .*REFUSED.*"warpdex serve"/)
  await wrong(['list', '--url', 'gopher://x'], /warpdex: "gopher:\/\/x" is not an address/)
  await wrong(['create', 'x', '--key', 'u32', '--payload', 'fixed(65)'], /warpdex: .*fixed\(65\)/)
  await wrong(['serve', '--port', 'x'], /warpdex: the flag --port is "x"; it must be a whole number/)
  await wrong(['serve', '--config', '/nowhere.json'], /warpdex: .*\/nowhere\.json cannot be read/)
})

t.test('a server beyond this machine needs a token, and stops before it opens anything', async (t) => {
  const cli = cliOf({})
  const data = join(directory, 'other')
  t.match(await cli(['serve', '--host', '0.0.0.0', '--directory', data]), { code: 2, err: /token/ })
  t.notOk(existsSync(data))
})

t.test('the token comes from a flag or the environment', async (t) => {
  const server = await serve(t, join(directory, 'guarded'), { WARPDEX_TOKEN: 'hush' })
  const cli = cliOf({ WARPDEX_URL: server.url })
  t.match(await cli(['list']), { code: 2, err: /UNAUTHORISED: .*needs a token; set WARPDEX_TOKEN/ })
  t.match(await cli(['list', '--token', 'guess']), { code: 2, err: /UNAUTHORISED: .*does not know/ })
  t.match(await cli(['list', '--token', 'hush']), { code: 0 })
  t.match(await cliOf({ WARPDEX_TOKEN: 'hush' })(['list', '--url', server.url]), { code: 0 })
  t.same(await server.stop('SIGTERM'), [0, null])
})
