// Runs in a browser: shows a server's status and keeps it up to date.
import { Activity } from './activity.js'
import { Browser } from './browser.js'
import { byId, setText } from './dom.js'
import { MemoryMaps } from './memory-map.js'
import { Overview } from './overview.js'
import { ownClient } from './own-client.js'
import { Plots } from './plots.js'
import { QueryBox } from './query-box.js'
import { SlabStrips } from './slab-strips.js'
import { fetchTold, forgetToken, keepToken, TokenWanted } from './status-source.js'
import { Tables } from './tables.js'

const PAUSE_MS = 1000

const overview = new Overview()
const tables = new Tables()
const activity = new Activity()
const browser = new Browser()
new QueryBox()
const plots = new Plots(byId('plots'))
const maps = new MemoryMaps(byId('maps'))
const slabs = new SlabStrips(byId('slabs'), byId('page-owners'))
let lastAnswer = Date.now()
let timer: number | undefined

async function refresh(): Promise<void> {
  clearTimeout(timer)
  try {
    const status = await fetchTold('/status.json')
    lastAnswer = Date.now()
    showContent()
    overview.update(status)
    tables.update(status)
    browser.update(status)
    await Promise.all([plots.update(status), activity.update(status)])
    byId('memory').hidden = status.slabs.length === 0
    maps.update(status.indexes)
    slabs.update(status.slabs)
  } catch (error) {
    if (error instanceof TokenWanted) {
      if (!error.wasGiven || !(await showReadable())) askForToken(error)
      return
    }
    overview.away(lastAnswer)
  }
  timer = window.setTimeout(refresh, PAUSE_MS)
}

function showContent(): void {
  byId('sign-in').hidden = true
  byId('content').hidden = false
}

/**
 * Shows what is there for a token that may not see the figures: a query box, and the keys and rows that it may read.
 * @returns whether the server knows the token; if not, it is forgotten
 */
async function showReadable(): Promise<boolean> {
  try {
    const client = await ownClient()
    const [indexes, relations] = await Promise.all([client.listIndexes(), client.listRelations()])
    browser.update({ indexes, relations })
  } catch {
    forgetToken()
    return false
  }
  byId('content').dataset.only = 'readable'
  showContent()
  const state = byId('state')
  state.dataset.state = 'ready'
  setText(state, 'figures need the right “stats” on *')
  return true
}

function askForToken({ wasGiven }: TokenWanted): void {
  const state = byId('state')
  state.dataset.state = 'waiting'
  setText(state, 'locked')
  byId('content').hidden = true
  byId('sign-in').hidden = false
  if (!wasGiven) return
  const hint = byId('sign-in-hint')
  hint.dataset.wrong = ''
  setText(hint, 'That is not the token, or it lacks the right to read. Try again.')
}

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  const field = byId('token')
  if (!(field instanceof HTMLInputElement)) return
  keepToken(field.value)
  field.value = ''
  void refresh()
})

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  plots.restyle()
  maps.restyle()
  slabs.restyle()
})

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer)
  else void refresh()
})

void refresh()
