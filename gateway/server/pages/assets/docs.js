'use strict';

/** Base URL of this page: that of its network, or the origin. */
const ownBase = location.origin + location.pathname.replace(/\/docs\/?$/, '');
const isOfNetwork = ownBase !== location.origin;
const documentUrl = `${ownBase}/openrpc.json`;

/** The OpenRPC document, and its methods with the wildcards; undefined: it is being loaded. */
let openRpc;
let methods = [];
let loadError;
/** Methods whose card was opened: only they have a form, because a page has a hundred. */
const openedMethods = new Set();

async function load() {
  openRpc = await loadJson(documentUrl);
  methods = [...openRpc.methods, ...wildcardsOf(openRpc['x-pass-through'])];
  draw();
  document.title = `${byId('title').textContent} · Gatehouse`;
  window.addEventListener('hashchange', openTarget);
  openTarget();
}

/** Wildcards of methods without a schema, each as an entry without parameters. */
function wildcardsOf({ methods: names = [], summary } = {}) {
  const entry = { summary, params: [], result: { name: 'result', schema: true }, errors: [], examples: [] };
  return names.map((name) => ({ ...entry, name }));
}

/** Shows the methods whose name or summary has all words of the search. */
function view() {
  const { info, servers = [], methods: named = [], components = { schemas: {} } } = openRpc ?? {};
  const matches = wordFilter('search');
  const isSearch = !matches('');
  const isFound = ({ name, summary = '' }) => matches(`${name} ${summary}`);
  const count = methods.filter(isFound).length;
  const found = !isSearch ? '' : count === 0 ? 'No method matches.' : `${quantity(count, 'method')} found.`;
  const summary = loadError ?? (openRpc ? `${formatNumber(named.length)} methods, JSON-RPC 2.0` : '…');
  const title = openRpc ? `${info.title}: methods`.replace('Gatehouse: ', '') : 'Methods';
  const keyHint = 'For the calls and the code below. It stays in this page.';
  const keyInput = textInput('key', {
    class: 'code',
    placeholder: 'your API key',
    onInput: draw,
    'aria-describedby': 'key-hint',
  });
  const searchInput = html`${textInput('search', { type: 'search', onInput: draw, 'aria-describedby': 'found' })}
    <p id="found" class="hint" role="status">${found}</p>`;
  const baseSelect = select('base', sameTexts(baseUrlsOf(servers)), { onInput: draw });
  const links = html`<p id="links" class="row">
    ${data.hasStatus && html`<a id="status" href="${ownBase}/">Back to the status</a>`}
    ${isOfNetwork && html`<a id="all" href="/docs">Methods of all networks</a>`}
    <a href=${documentUrl}>OpenRPC document</a>
  </p>`;
  return html`${pageHeader(title, summary, 'quiet', links)}
    <main>
      <section class="card" aria-label="Target of calls">
        <div class="fields">
          ${field('base', 'Base URL', baseSelect)} ${field('key', 'Your key', keyInput, keyHint)}
          ${field('search', 'Find a method', searchInput)}
        </div>
      </section>
      <h2 class="outside">All methods</h2>
      <div id="methods">${methods.map((method) => methodCard(method, components, !isFound(method)))}</div>
      <section id="types" aria-labelledby="types-title" hidden=${isSearch}>
        <h2 id="types-title">Types</h2>
        ${Object.entries(components.schemas).map(([name, schema]) => typeCard(name, schema, components.schemas))}
      </section>
    </main>`;
}

/** Base URLs of calls: that of this page, if it has one, and those of the document. */
function baseUrlsOf(servers) {
  const urls = servers.filter(({ name }) => name === 'HTTP').map(({ url }) => url.replace(/\/v3\/\$\{key\}$/, ''));
  // On the same host the page's origin is used: a proxy may have changed the scheme to https.
  const isSameHost = (url) => URL.canParse(url) && new URL(url).host === location.host;
  const reachable = urls.map((url) =>
    isSameHost(url) ? location.origin + new URL(url).pathname.replace(/\/$/, '') : url,
  );
  return [...new Set(isOfNetwork ? [ownBase, ...reachable] : reachable)];
}

/** Opens the method or type that the URL's fragment names, which a search may have hidden. */
function openTarget() {
  const target = byId(decoded(location.hash.slice(1)));
  if (target === null) return;
  if (target.checkVisibility?.() === false) {
    byId('search').value = '';
    draw();
  }
  target.open = true;
  target.scrollIntoView();
}

/** A link to a method or a type, which can be copied. */
function permalink(id) {
  return html`<a class="permalink" href="#${id}" title="Link to ${id}">#${breakable(id)}</a>`;
}

function methodCard(method, { schemas, errors: known }, isHidden) {
  const { name, summary, description, params, result, errors, examples } = method;
  const paramRows = params.map((param) => [
    html`<code>${breakable(param.name)}</code>`,
    html`<span>${schemaSummary(param.schema, schemas)}</span>`,
    param.required ? '' : 'optional',
    html`<span class="quiet">${param.summary}</span>`,
  ]);
  const errorRows = errors.map(({ $ref }) => {
    const { code, message } = known[$ref.slice($ref.lastIndexOf('/') + 1)];
    return [String(code), message];
  });
  const [example] = examples;
  const toggle = ({ currentTarget }) => {
    if (!currentTarget.open) return;
    // The address is that of the method that was opened last.
    history.replaceState(null, '', `#${name}`);
    openedMethods.add(name);
    draw();
  };
  return html`<details class="card method" id=${name} hidden=${isHidden} onToggle=${toggle}>
    <summary><code>${breakable(name)}</code><span class="quiet">${summary}</span></summary>
    <p>${description && `${description} `}${permalink(name)}</p>
    <h3>Parameters</h3>
    ${
      params.length === 0
        ? html`<p class="quiet">None in the specification.</p>`
        : table(['Name', 'Type', '', ''], paramRows)
    }
    <h3>Result</h3>
    <p>${schemaSummary(result.schema, schemas)}</p>
    ${
      errorRows.length > 0 &&
      html`<h3>Errors</h3>
        ${table(['Code', 'Message'], errorRows)}`
    }
    ${
      example &&
      html`<h3>Example: ${example.name}</h3>
        <pre class="result" tabindex="0">${jsonText(example.result.value)}</pre>`
    }
    ${openedMethods.has(name) && callForm(name, example?.params.map(({ value }) => value) ?? [])}
  </details>`;
}

/** Summarises a JSON Schema, with links to its types. @returns texts and elements */
function schemaSummary(schema, schemas) {
  if (schema === true || schema === undefined) return ['anything'];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return [html`<a href="#type-${name}">${schemas[name]?.title ?? name}</a>`];
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined)
    return either.flatMap((one, index) => [...(index === 0 ? [] : [' or ']), ...schemaSummary(one, schemas)]);
  if (schema.if !== undefined) return ['null or ', ...schemaSummary(schema.else, schemas)];
  if (schema.type === 'array' && schema.items !== undefined)
    return ['array of ', ...schemaSummary(schema.items, schemas)];
  if (schema.enum !== undefined) return [schema.enum.map((value) => JSON.stringify(value)).join(', ')];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return [schema.title ?? [schema.type ?? 'anything'].flat().join(' or ')];
}

/** Describes one type: its fields or its pattern. */
function typeCard(name, schema, schemas) {
  const { title, description, properties, required = [], pattern } = schema;
  const rows = Object.entries(properties ?? {}).map(([member, one]) => [
    html`<code>${member}</code>`,
    html`<span>${schemaSummary(one, schemas)}</span>`,
    required.includes(member) ? '' : 'optional',
    html`<span class="quiet">${one.description}</span>`,
  ]);
  const isNamed = title === undefined || title === name.toLowerCase();
  return html`<article class="card" id="type-${name}">
    <h3>${name}</h3>
    <p>${permalink(`type-${name}`)}</p>
    <p>${isNamed ? '' : `${title}. `}${description}</p>
    ${
      properties === undefined
        ? html`<p>${schemaSummary({ ...schema, title: undefined }, schemas)}</p>`
        : table(['Field', 'Type', '', ''], rows)
    }
    ${pattern !== undefined && html`<p class="quiet">matches <code>${pattern}</code></p>`}
  </article>`;
}

draw();
load().catch((error) => {
  loadError = `The OpenRPC document cannot be loaded: ${error.message}`;
  draw();
});
