import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { drawReport } from './page-script.js'
import { hasFailed, type LoadTestReport } from './report.js'
import { FIGURE_HEADS, figureRows, milliseconds, outcomeLines, setupRows } from './text-report.js'

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 60rem; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse } td, th { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top }
.figures td, .figures th { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.figures :first-child { text-align: left }
.wide { overflow-x: auto } .bad { color: #b00020 }
`

/** The report as one page that needs nothing else: tables, and plots by uPlot, which it carries. */
export function htmlReport(report: LoadTestReport): string {
  const { script, style } = plotLibrary()
  const title = `warpdex-loadtest ${report.setup.workload}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${escaped(report.program)}, ${escaped(report.time)}</p>
${setupTable(report)}
<h2>Throughput</h2>
<div id="throughput"></div>
<h2>Latency over time</h2>
<div id="latency"></div>
<h2>Latency by percentile</h2>
<div id="percentiles"></div>
<h2>Operations</h2>
${operationTable(report)}
<h2>Outcome</h2>
${outcome(report)}
<script>${script}</script>
<script type="application/json" id="report">${JSON.stringify(report).replaceAll('<', '\\u003c')}</script>
<script>(${drawReport.toString()})(JSON.parse(document.getElementById('report').textContent), uPlot)</script>
</body>
</html>
`
}

function setupTable(report: LoadTestReport): string {
  const rows = setupRows(report).map(
    ([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}

function operationTable(report: LoadTestReport): string {
  const rows = figureRows(report, true).map(([name, ...figures]) => [
    `<td>${escaped(name)}</td>`,
    ...figures.map((figure) => `<td>${figure}</td>`),
  ])
  const heads = FIGURE_HEADS.map((name) => `<th>${name}</th>`)
  const lines = [heads, ...rows].map((cells) => `<tr>${cells.join('')}</tr>`)
  return `<div class="wide"><table class="figures">${lines.join('')}</table></div>`
}

function outcome(report: LoadTestReport): string {
  const lines = outcomeLines(report).map((line) => `<li>${escaped(line)}</li>`)
  const slowest = Math.max(0, ...report.intervals.map(({ max }) => max))
  return `<ul${hasFailed(report) ? ' class="bad"' : ''}>${lines.join('')}</ul><p>Slowest request: ${milliseconds(slowest)} ms</p>`
}

function plotLibrary(): { readonly script: string; readonly style: string } {
  const directory = dirname(createRequire(import.meta.url).resolve('uplot'))
  return {
    script: readFileSync(join(directory, 'uPlot.iife.min.js'), 'utf8'),
    style: readFileSync(join(directory, 'uPlot.min.css'), 'utf8'),
  }
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
