'use strict';

const POLL_MS = 3000;
/** Number of networks above which idle ones are folded, and the page polls less often. */
const MANY_NETWORKS = 8;
const MANY_POLL_MS = 10_000;

/** The status of the gateway. */
let shown;
let respondedAt;
/** The status of each network whose row is open; undefined: it is being loaded. */
const openSlugs = new Map();
/** Column by which the table is sorted: trouble, until a head is clicked. */
let sortedBy = 'State';
let isReversed = false;

async function refresh() {
  try {
    shown = await loadJson('/');
    await loadOpen();
    [isLost, respondedAt] = [false, new Date()];
  } catch {
    isLost = true;
  }
  draw();
}

/** Loads the networks whose rows are open. */
async function loadOpen() {
  const load = async (slug) => {
    const loaded = await loadJson(`/${slug}/`).catch((error) => {
      if (error.status !== 404) throw error;
    });
    // Its row may have been closed meanwhile.
    if (!openSlugs.has(slug)) return;
    // Its file was removed.
    if (loaded === undefined) openSlugs.delete(slug);
    else openSlugs.set(slug, loaded.networks[0]);
  };
  await Promise.all([...openSlugs.keys()].map(load));
}

async function toggle(slug) {
  if (!openSlugs.delete(slug)) openSlugs.set(slug, undefined);
  draw();
  await loadOpen().catch(() => (isLost = true));
  draw();
}

/** Columns of the table, with the value by which each is sorted. */
const columns = {
  Network: {
    valueOf: ({ name }) => name.toLowerCase(),
    cell: ({ slug, name, chainId }) => html`<a href="/${slug}" title="chain ${chainId}">${name}</a>`,
  },
  State: { valueOf: (network) => -troubleOf(network), cell: stateCell },
  Block: {
    valueOf: ({ head }) => -(head ?? -1),
    cell: ({ head }) => (head === undefined ? '–' : formatNumber(head)),
  },
  'Calls/s': ofActivity(({ perSecond }) => perSecond, perSecondText),
  Failed: ofActivity(
    ({ perSecond, failedShare = 0 }) => (perSecond > 0 ? failedShare : undefined),
    (share) =>
      share === 0 ? '0' : html`<span class="bad">${share < 0.001 ? '< 0.1 %' : `${(share * 100).toFixed(1)} %`}</span>`,
  ),
  p50: ofActivity(({ p50Ms }) => p50Ms, milliseconds),
  p99: ofActivity(({ p99Ms }) => p99Ms, milliseconds),
  Upstreams: { valueOf: ({ upstreams }) => -upstreams.length, cell: upstreamsCell },
};

/** A column of the last minute. */
function ofActivity(numberOf, text) {
  const read = ({ activity }) => (activity?.perSecond > 0 ? numberOf(activity) : undefined);
  return {
    valueOf: (network) => -(read(network) ?? 0),
    cell: (network) => (read(network) === undefined ? '–' : text(read(network))),
  };
}

function sorted(networks) {
  const { valueOf } = columns[sortedBy];
  const values = new Map(networks.map((network) => [network, valueOf(network)]));
  // The sort is stable: networks with equal values are in the order of their files.
  const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  const order = networks.toSorted((one, other) => compare(values.get(one), values.get(other)));
  return isReversed ? order.reverse() : order;
}

function sortBy(title) {
  isReversed = sortedBy === title && !isReversed;
  sortedBy = title;
  draw();
}

/** A table with a row for each network, which opens to its card. */
function networkTable(networks) {
  const titles = Object.keys(columns);
  const order = (title) => (title !== sortedBy ? undefined : isReversed ? 'descending' : 'ascending');
  const heads = titles.map((title) => ({ title, onSort: () => sortBy(title), order: order(title) }));
  const rows = networks.flatMap((network) => {
    const { slug, name } = network;
    const isOpen = openSlugs.has(slug);
    const [first, ...others] = Object.values(columns).map(({ cell }) => cell(network));
    const button = html`<button
      type="button"
      class="toggle"
      id="toggle-${slug}"
      aria-expanded=${isOpen}
      aria-label="Upstreams of ${name}"
      onClick=${() => void toggle(slug)}
    >
      ${isOpen ? '▾' : '▸'}
    </button>`;
    const details = openSlugs.get(slug);
    const card = details === undefined ? '…' : networkCard(details);
    const attributes = { 'data-network': slug, key: slug };
    return openableRow(titles, [[button, first], ...others], isOpen ? card : undefined, attributes);
  });
  return table(heads, rows, { class: 'networks' });
}

function searchText({ slug, name, chainId, upstreams }) {
  const states = upstreams.map((upstream) => `${upstream.name} ${upstream.state}`);
  return `${slug} ${name} ${chainId} ${states.join(' ')}`;
}

function idleItem({ slug, name, chainId, upstreams }) {
  const facts = `chain ${chainId}, ${quantity(upstreams.length, 'upstream')}`;
  return html`<li><a href="/${slug}">${name}</a> <span class="quiet">${facts}</span></li>`;
}

/** Shows the networks that match the filter; of many, idle ones are folded, in the order of their names. */
function view() {
  const all = shown?.networks ?? [];
  const matches = wordFilter('filter');
  const matching = all.filter((network) => matches(searchText(network)));
  const isFolded = all.length > MANY_NETWORKS;
  const byName = (one, other) => one.name.localeCompare(other.name, 'en', { numeric: true });
  const idle = isFolded ? matching.filter(isIdle).toSorted(byName) : [];
  const rows = matching.filter((network) => !idle.includes(network));
  const summary = isLost ? lostSummary(respondedAt) : summaryOf(all, `${quantity(all.length, 'network')}, `);
  return html`${pageHeader('Networks', ...(shown === undefined && !isLost ? ['…', 'quiet'] : summary))}
    ${configurationView(shown?.configuration)}
    <main>
      <div id="search" hidden=${!isFolded}>
        <label for="filter">Filter by network, chain id, upstream or state</label>
        ${textInput('filter', { type: 'search', placeholder: 'failing', onInput: draw })}
        <p id="no-match" class="quiet" role="status" hidden=${matching.length > 0 || all.length === 0}>
          No network matches.
        </p>
      </div>
      <div id="networks">${rows.length > 0 && networkTable(sorted(rows))}</div>
      <details id="idle" class="card" hidden=${idle.length === 0}>
        <summary id="idle-count">${quantity(idle.length, 'idle network')}</summary>
        <ul id="idle-list">
          ${idle.map(idleItem)}
        </ul>
      </details>
    </main>`;
}

draw();
void refresh();
poll(refresh, () => (shown?.networks.length > MANY_NETWORKS ? MANY_POLL_MS : POLL_MS));
