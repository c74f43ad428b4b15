import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Answer, json, type Route } from './answer.js'

/** What the page loads lies below it. */
const PAGE_PATH = '/page/'

/** The client, by which the page asks the server as others do: folders of modules beside `src`, served under the paths that their imports name. */
const CLIENT_FOLDERS = ['clients/sdk', 'protocol']

/** Whether something is a part of the page. */
export function isOfPage(path: string): boolean {
  return [PAGE_PATH, ...CLIENT_FOLDERS.map((name) => `/${name}/`)].some((start) => path.startsWith(start))
}

/** Where the build puts the page's own files. */
const FOLDER = fileURLToPath(new URL('./page/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const INDEX = 'index.html'

/**
 * `/` and what the page there loads. The plotting library is served under the name of the module that stands for it.
 * @param folder the page's own files, compiled
 */
export function pageRoutes(folder = FOLDER): ReadonlyMap<string, Route> {
  if (!existsSync(join(folder, 'main.js'))) {
    return new Map([['/', () => json(404, { error: 'the page is not compiled; run npm run build' })]])
  }
  const files = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined)
  const routes = new Map(files.map((name) => [`${PAGE_PATH}${name}`, fileRoute(join(folder, name))]))
  const plots = dirname(createRequire(import.meta.url).resolve('uplot'))
  routes.set(`${PAGE_PATH}uplot.js`, fileRoute(join(plots, 'uPlot.esm.js')))
  routes.set(`${PAGE_PATH}uplot.css`, fileRoute(join(plots, 'uPlot.min.css')))
  const root = join(folder, '../../..')
  return new Map([['/', fileRoute(join(folder, INDEX))], ...routes, ...clientRoutes(root)])
}

/** The modules of the client. Those that have another form for browsers are served in that one, as `browser` in package.json has it. */
function* clientRoutes(root: string): Generator<readonly [path: string, route: Route]> {
  for (const name of CLIENT_FOLDERS) {
    for (const file of readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })) {
      if (extname(file) !== '.js') continue
      const path = join(root, name, file)
      const inBrowsers = path.replace(/(-node)?\.js$/, '-browser.js')
      yield [`/${name}/${file.replaceAll('\\', '/')}`, fileRoute(existsSync(inBrowsers) ? inBrowsers : path)]
    }
  }
}

/** A file, read when it is first asked for; whoever has it already is told so. */
function fileRoute(file: string): Route {
  let kept: { readonly answer: Answer; readonly tag: string } | undefined
  return ({ headers }) => {
    kept ??= readAnswer(file)
    const { answer, tag } = kept
    return headers['if-none-match'] === tag ? { ...answer, status: 304, body: '' } : answer
  }
}

function readAnswer(file: string): { readonly answer: Answer; readonly tag: string } {
  const body = readFileSync(file)
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`
  const headers = { etag: tag, 'cache-control': 'no-cache' }
  return { tag, answer: { status: 200, type: TYPES[extname(file)], body, headers } }
}
