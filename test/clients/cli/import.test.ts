import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { cliOf, serve, spawnCli } from './run-cli.js'

t.test('import', async (t) => {
  const directory = t.testdir({
    'mixed.tsv': '1\tone\r\n2,two, too\n\n3\tthree\t3',
    'quoted.csv': 'name;id\n"a ""b""; c";10\n"two\nlines";11\nshort\nlast;12\n',
    'many.csv': Array.from({ length: 50_000 }, (_, i) => `${i * 7},${i}\n`).join(''),
  })
  const server = await serve(t, join(directory, 'data'))
  const cli = cliOf({ WARPDEX_URL: server.url })
  const file = (name: string) => join(directory, name)
  await cli(['create', 'texts', '--key', 'u32', '--payload', 'bytes', '--unique'])
  await cli(['create', 'numbers', '--key', 'u32', '--payload', 'u32'])

  await t.test('a key and a payload a line', async (t) => {
    t.match(await cli(['import', 'texts', file('mixed.tsv')]), {
      code: 0,
      out: /^3 rows, .* 3 inserted\n$/,
      err: '',
    })
    t.match(await cli(['get', 'texts', '1', '2', '3', '--json']), {
      out: '{"key":1,"payload":"one"}\n{"key":2,"payload":"two, too"}\n{"key":3,"payload":"three\\t3"}\n',
    })
    const again = await cli(['import', 'texts', '-', '--if-exists', 'replace'], '1\teins\n4\tvier\n')
    t.match(again, { code: 0, out: / 1 inserted, 1 replaced\n$/ })
    t.match(await cli(['import', 'texts', '-', '--separator', '::'], '5::fünf\n1::un'), {
      code: 0,
      out: / 1 inserted, 1 not inserted/,
    })
    t.match(await cli(['get', 'texts', '1', '5']), { code: 0, out: '1\teins\n5\tfünf\n' })
  })

  await t.test('CSV by column names', async (t) => {
    const args = ['import', 'texts', file('quoted.csv'), '--key-column', 'id', '--payload-column', 'name']
    t.match(await cli([...args, '--separator', ';']), {
      code: 2,
      err: /quoted.csv: line 4: Expected Number of Columns: 2 Found: 1, in "short"/,
    })
    t.match(await cli([...args, '--separator', ';', '--skip-bad']), {
      code: 0,
      out: / 3 inserted, 1 bad lines skipped\n$/,
      err: /^warpdex: skipped line 4: .*\n$/,
    })
    t.match(await cli(['get', 'texts', '10', '11', '--json']), {
      out: '{"key":10,"payload":"a \\"b\\"; c"}\n{"key":11,"payload":"two\\nlines"}\n',
    })
    const named = ['import', 'texts', '-', '--key-column', 'id', '--payload-column', 'name']
    t.match(await cli(named, 'name,number\na,1\n'), {
      code: 2,
      err: /there is no column "id"; the file has name, number/,
    })
    t.match(await cli(named, 'name,id\n"a"b,1\n'), {
      code: 2,
      err: /line 2: .*quote/,
    })
    t.match(await cli(args.slice(0, -2)), { code: 2, err: /key-column/ })
  })

  await t.test('bad lines stop it, and are named', async (t) => {
    const input = '1,1\nx,2\n3,-3\n4\n5,5\n'
    t.match(await cli(['import', 'numbers', '-'], input), {
      code: 2,
      err: /warpdex: line 2: "x" is not a number/,
    })
    const { code, out, err } = await cli(['import', 'numbers', '-', '--skip-bad'], input)
    t.match({ code, out }, { code: 0, out: / 2 inserted, 3 bad lines skipped/ })
    t.match(err, /line 2: .*\n.*line 3: "-3" is out of range.*\n.*line 4: there is no tab or comma/)
    t.match(await cli(['import', 'numbers', '-'], Uint8Array.of(0xff, 0xfe)), { code: 2, err: /not UTF-8/ })
    const latin = Buffer.from('id,name\n1,caf\xe9\n', 'latin1')
    const named = ['import', 'texts', '-', '--key-column', 'id', '--payload-column', 'name']
    t.match(await cli(named, latin), {
      code: 2,
      err: /^warpdex: standard-input.csv: line 2: Invalid unicode .*\n$/,
    })
    t.match(await cli(['import', 'numbers', file('none')]), { code: 2, err: /ENOENT/ })
    t.match(await cli(['import', 'numbers', directory]), { code: 2, err: /folder/ })
  })

  await t.test('many batches, and through a pipe into another index', async (t) => {
    t.match(await cli(['import', 'numbers', file('many.csv')]), {
      code: 0,
      out: /^50,000 rows.*50,000 inserted\n$/,
    })
    const { out } = await cli(['entries', 'numbers', '--from', '7'])
    const lines = out.trimEnd().split('\n')
    t.equal(lines.length, 49_999)
    t.equal(lines.at(-1), '349993\t49999')
    await cli(['create', 'copy', '--key', 'u64', '--payload', 'u64', '--unique'])
    t.match(await cli(['import', 'copy', '-'], out), { code: 0, out: /49,999 inserted/ })
    t.same((await cli(['entries', 'copy'])).out, out)
  })

  await t.test('rows of a relation, without bad lines', async (t) => {
    const load = ['import', '-', '--relation', 'skipping', '--format', 'csv', '--columns', 'n:u32']
    t.match(await cli([...load, '--skip-bad'], 'n\n1\nx\n3\n'), {
      code: 0,
      out: /^2 rows, .*: 1 bad lines skipped\n$/,
      err: /^warpdex: skipped line 3: .*Could not convert string "x".*\n$/,
    })
  })

  await t.test('without DuckDB or Arrow it says what to install', async (t) => {
    const resolve =
      'export const resolve = (name, ...rest) => rest[1](/^(@|apache)/.test(name) ? "node:none" : name, rest[0])'
    const hook = `import { register } from "node:module"; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(resolve)}`)})`
    const environment = {
      WARPDEX_URL: server.url,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
    }
    const args = ['import', '-', '--relation', 'lacking', '--format', 'csv']
    t.match(await cliOf(environment)(args, 'n\n1\n'), {
      code: 2,
      err: /^warpdex: this needs DuckDB: npm install @duckdb\/node-api@\S+ \(.*\n$/,
    })
    t.match(await cliOf(environment)(['import', '-', '--relation', 'lacking', '--format', 'arrow'], 'n'), {
      code: 2,
      err: /this needs the package apache-arrow: npm install apache-arrow@21\b.*\n$/,
    })
  })

  await t.test('Ctrl-C ends it, and says what is stored', async (t) => {
    await cli(['create', 'endless', '--key', 'u32', '--payload', 'u32'])
    const relation = ['import', '-', '--relation', 'endless', '--format', 'csv']
    for (const [args, stored] of [
      [
        ['import', 'endless', '-'],
        /^warpdex: CANCELLED: .*; (the first \d+ rows|no row) of the load (are|is) stored\n$/,
      ],
      [relation, /^warpdex: CANCELLED: it was cancelled before standard input ended; nothing was done\n$/],
    ] as const) {
      const child = spawnCli({ WARPDEX_URL: server.url }, args)
      let err = ''
      child.stderr.setEncoding('utf8').on('data', (text) => {
        err += text
      })
      child.stdin.on('error', () => {})
      const lines = Array.from({ length: 70_000 }, (_, i) => `${i},${i}\n`)
      // They are more than a pipe holds, so that the command reads once they are written. Standard input stays open: it waits for more.
      await new Promise((resolve) => child.stdin.write(lines.join(''), resolve))
      child.kill('SIGINT')
      const [code] = await once(child, 'close')
      t.equal(code, 2)
      t.match(err, stored)
    }
  })

  await t.test('bytes that are no text survive as hex digits', async (t) => {
    await cli(['create', 'prints', '--key', 'f64', '--payload', 'fixed(3)'])
    t.match(await cli(['import', 'prints', '-', '--hex'], '-1e300,00ff10\nInfinity\t0x616263\n'), { code: 0 })
    t.match(await cli(['entries', 'prints']), { out: '-1e+300\t0x00ff10\nInfinity\tabc\n' })
    const { out } = await cli(['entries', 'prints', '--hex'])
    t.match(await cli(['import', 'prints', '-', '--hex'], out), { code: 0, out: / 2 inserted/ })
    t.match(await cli(['get', 'prints', '-Infinity', '-1e300', '--json']), {
      code: 1,
      out: '{"key":"-Infinity","payload":null}\n{"key":-1e+300,"payload":{"hex":"00ff10"}}\n',
    })
  })
})
