'use strict';

/** Maximum rows that are shown; the CSV has those that the gateway returned. */
const MAX_ROWS = 500;
const ranges = { '24h': 'today', '7d': '7 days', '30d': '30 days', '90d': '90 days' };
const partTitles = { day: 'Day', key: 'Key', network: 'Network', method: 'Method' };
const amountTitles = { units: 'Units', calls: 'Calls', errors: 'Errors', bytes: 'Bytes' };

/** Parts that each row has. */
let parts = filterOf('by')
  .split(',')
  .filter((part) => part in partTitles);
if (parts.length === 0) parts = ['key'];
/** One day in place of the range; empty: the range. */
let oneDay = filterOf('day');
/** Rows of the table and of the graphs, and the choice that they belong to; undefined: they are being loaded. */
let shown;
const loadUsage = latestLoad();

function load() {
  const choice = { parts, oneDay, range };
  const days = oneDay === '' ? { days: daysOf(range) } : { day: oneDay };
  const read = (by, signal) => sendRequest('GET', `/usage?${new URLSearchParams({ ...days, by })}`, undefined, signal);
  // With one part each, so that the gateway leaves no rows out. One day has no graphs.
  const graphParts = oneDay === '' ? ['day', 'network', 'method'] : [];
  const all = [...new Set([parts.join(','), ...graphParts])];
  return loadUsage(
    (signal) => Promise.all(all.map((by) => read(by, signal))),
    (reports) => {
      const [{ usage: rows, total }] = reports;
      shown = { ...choice, rows, total, graphs: graphParts.map((by) => reports[all.indexOf(by)].usage) };
      draw();
    },
  );
}

/** Keeps the choice in the page's address, and loads its rows. */
function choose() {
  const parameters = { range, by: parts.join(','), ...(oneDay !== '' && { day: oneDay }) };
  history.replaceState(null, '', `?${new URLSearchParams(parameters)}`);
  void reload(load, byId('choice'));
}

function view() {
  const body = html`<section class="card" aria-labelledby="usage-title">
    <h2 id="usage-title">Usage of all keys${shown && `, ${shown.oneDay || ranges[shown.range]}`}</h2>
    <form id="choice" class="fields" onSubmit=${(event) => event.preventDefault()}>
      <div>
        <span class="label">Days, in UTC</span>
        ${rangeButtons(ranges, () => {
          oneDay = byId('day').value = '';
          choose();
        })}
      </div>
      ${field('day', 'One day', html`<input id="day" type="date" defaultValue=${oneDay} onChange=${chooseDay} />`)}
      <fieldset>
        <legend>A row for each</legend>
        <div class="row">${Object.entries(partTitles).map(partBox)}</div>
      </fieldset>
    </form>
    <div id="graphs">${shown?.oneDay === '' && usagePlots(daysOf(shown.range), ...shown.graphs)}</div>
    <div id="rows">${shown && rowsView(shown)}</div>
  </section>`;
  return adminView(pageHeader('Usage', shown === undefined ? '' : quantity(shown.total, 'row')), body);
}

function chooseDay({ target }) {
  oneDay = target.value;
  choose();
}

function partBox([part, title]) {
  const onChange = ({ target }) => {
    const chosen = Object.keys(partTitles).filter((each) => (each === part ? target.checked : parts.includes(each)));
    // One part is the least.
    if (chosen.length > 0) parts = chosen;
    target.checked = parts.includes(part);
    choose();
  };
  return html`<label class="check">
    <input id="by-${part}" type="checkbox" checked=${parts.includes(part)} onChange=${onChange} /> ${title}
  </label>`;
}

function rowsView({ rows, total, parts }) {
  if (rows.length === 0) return html`<p class="quiet">No calls on these days.</p>`;
  const amounts = Object.keys(amountTitles);
  const sums = amounts.map((name) => html`<b>${formatNumber(rows.reduce((sum, row) => sum + row[name], 0))}</b>`);
  const cells = rows
    .slice(0, MAX_ROWS)
    .map((row) => [...parts.map((part) => partCell(part, row)), ...amounts.map((name) => formatNumber(row[name]))]);
  const heads = [...parts.map((part) => partTitles[part]), ...Object.values(amountTitles)];
  const isCut = total > rows.length;
  const count = formatNumber(rows.length);
  const sumRow = [html`<b>Sum${isCut && ` of ${count} rows`}</b>`, ...parts.slice(1).map(() => ''), ...sums];
  return html`<p><button id="csv" type="button" onClick=${downloadCsv}>Download CSV</button></p>
    ${
      isCut &&
      html`<p class="warn">
        The table and the CSV have the ${count} rows with most units of ${formatNumber(total)}. The command
        <code>gatehouse usage</code> has all.
      </p>`
    }
    ${table(heads, [sumRow, ...cells])}
    ${rows.length > MAX_ROWS && html`<p class="hint">${formatNumber(rows.length - MAX_ROWS)} more rows are in the CSV.</p>`}`;
}

function partCell(part, row) {
  if (part === 'key') return keyLink(row);
  return part === 'day' || part === 'network' ? row[part] : html`<code>${breakable(row[part])}</code>`;
}

/** RFC 4180. A text that a table calculator would run begins with an apostrophe. */
function csvOf(rows, names) {
  const cell = (value = '') => {
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))]
    .map((line) => line.map(cell).join())
    .join('\r\n');
}

function downloadCsv() {
  const { rows, parts, oneDay, range } = shown;
  const names = [...parts.flatMap((part) => (part === 'key' ? ['key', 'name'] : [part])), ...Object.keys(amountTitles)];
  const url = URL.createObjectURL(new Blob([`${csvOf(rows, names)}\r\n`], { type: 'text/csv' }));
  const link = document.createElement('a');
  Object.assign(link, { href: url, download: `usage-${oneDay || range}-by-${parts.join('-')}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

readRange('7d', ...Object.keys(ranges));
openSession(load);
