'use strict';

/** Name under which the browser keeps the token until its tab is closed. */
const STORED_TOKEN = 'gatehouse-admin-token';

let token = '';
let isRunning = false;

/** An error response of the admin API. */
class RequestError extends Error {
  constructor(message, field, status) {
    super(message);
    this.field = field;
    this.status = status;
  }
}

/** Sends a request to the admin API; `signal` aborts it. @throws RequestError with the message of its error response */
async function sendRequest(verb, path, body, signal) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const silent = () => new RequestError('The gateway does not respond. Try again.');
  const options = { method: verb, headers, body: JSON.stringify(body), signal };
  const response = await fetch(`/admin${path}`, options).catch(() => {
    throw silent();
  });
  const result = await response.json().catch(() => {
    throw silent();
  });
  if (response.ok) return result;
  const { message = `HTTP ${response.status}`, field } = result.error ?? {};
  throw new RequestError(message, field, response.status);
}

/** A page of the admin API: the form for the token, until one is entered, then the body. */
function adminView(header, body) {
  const hint =
    'The value of ADMIN_TOKEN, or a token of ADMIN_TOKENS. It stays in this browser tab until the tab is closed.';
  const control = html`<div class="row">
    <input id="token" type="password" class="code" autocomplete="off" aria-describedby="token-hint" />
    <button class="main">Open</button>
  </div>`;
  return html`${header}
    <main>
      <form id="login" class="card" novalidate hidden=${token !== ''} onSubmit=${submits(logIn)}>
        ${field('token', 'Admin token', control, hint)}
      </form>
      <p id="message" role="status"></p>
      <div id="session" hidden=${token === ''}>${body}</div>
    </main>`;
}

let session;

/**
 * Opens the page with the token of this browser tab, or when its user enters one. A reload and the other pages of the tab
 * need no second entry.
 * @param open loads what the page shows; throws RequestError for an invalid token
 * @param pollMs the page loads again each `pollMs`; 0: it does not
 * @param reopen what it loads then
 */
function openSession(open, pollMs = 0, reopen = open) {
  session = { open, pollMs, reopen };
  draw();
  byId('sign-out').addEventListener('click', () => {
    sessionStorage.removeItem(STORED_TOKEN);
    location.replace(location.pathname);
  });
  const stored = sessionStorage.getItem(STORED_TOKEN);
  if (stored !== null) void run(() => openWith(stored), byId('login'));
}

function logIn() {
  return openWith(byId('token').value.trim());
}

async function openWith(given) {
  token = given;
  const { open, pollMs, reopen } = session;
  let failure;
  try {
    await open();
  } catch (error) {
    failure = error;
  }
  if (isLocked(failure)) {
    token = '';
    draw();
    if (failure.status === 401) sessionStorage.removeItem(STORED_TOKEN);
    throw failure;
  }
  if (pollMs > 0)
    poll(
      () => reload(reopen),
      () => pollMs,
    );
  sessionStorage.setItem(STORED_TOKEN, given);
  byId('token').value = '';
  byId('sign-out').hidden = false;
  draw();
  // Filters of the address may be invalid, or a store unreachable.
  if (failure !== undefined) showFailure(failure, byId(failure.field)?.form);
}

/** Whether the gateway has rejected the token, or has not read it. */
function isLocked(failure) {
  return failure !== undefined && [undefined, 401, 403, 429].includes(failure.status);
}

/**
 * Runs the action of a form or a button, one at a time, and shows its message. Errors are shown beside their fields, or
 * as the message.
 */
async function run(action, form) {
  if (isRunning) return;
  isRunning = true;
  await reload(action, form);
  isRunning = false;
}

/** Loads what a choice shows, also while an action runs, and shows the message or error as that of an action. */
async function reload(load, form) {
  showMessage('');
  if (form !== undefined) clearErrors(form);
  try {
    const text = await load();
    if (text !== undefined) showMessage(text);
  } catch (error) {
    showFailure(error, form);
  }
}

/** Shows an error beside its field of the form, or as the message. */
function showFailure(error, form) {
  if (form === undefined || !showErrors(form, error)) showMessage(error.message, 'bad');
}

/** The handler of a form that runs an action. */
function submits(action) {
  return (event) => {
    event.preventDefault();
    void run(action, event.currentTarget);
  };
}

function showMessage(text, style = 'good') {
  byId('message').className = style;
  byId('message').textContent = text;
}

/** Appends the gateway's warnings to a message. */
function withWarnings(message, { warnings = [] }) {
  return [message, ...warnings.map((warning) => `Warning: ${warning}.`)].join(' ');
}

/** Shows an error beside its field. @returns whether the form has it */
function showErrors(form, error) {
  const { field: name = '', message } = error;
  if (form.id === 'login') return showError(byId('token'), message);
  if (name.startsWith('permissions')) return showPermissionErrors(form, error);
  const input = byId(name);
  return input?.form === form && showError(input, message.replace(`${name}: `, ''));
}

/** A form of filters, whose values the page's address has. @param controls labels with their controls, by parameter */
function filterForm(load, controls, buttons) {
  const onSubmit = (event) => {
    event.preventDefault();
    void reload(load, event.currentTarget);
  };
  return html`<form id="filters" class="fields" aria-label="Filters" onSubmit=${onSubmit}>
    ${Object.entries(controls).map(([name, [label, control]]) => field(name, label, control))}
    <div class="row"><button class="main">Show</button>${buttons}</div>
  </form>`;
}

/** An input of a filter, with suggestions. */
function filterInput(name, values, attributes = {}) {
  const known = [...new Set(values.filter((value) => value !== undefined))].sort().slice(0, 200);
  const list = known.length > 0 ? `${name}s` : undefined;
  return html`${textInput(name, { name, list, defaultValue: filterOf(name), ...attributes })}
    <datalist id="${name}s">${known.map((value) => html`<option value=${value} />`)}</datalist>`;
}

function filterSelect(name, choices) {
  const onChange = ({ target }) => target.form.requestSubmit();
  return select(name, choices, { name, onChange }, filterOf(name));
}

/** The value of a filter in the page's address. */
function filterOf(name) {
  return new URLSearchParams(location.search).get(name) ?? '';
}

const loadFiltered = latestLoad();

/** Loads rows of the admin API by the filters of the form, which the page's address then has. */
function loadRows(path, show) {
  const entries = [...new FormData(byId('filters'))].map(([name, value]) => [name, value.trim()]);
  const filters = new URLSearchParams(entries.filter(([, value]) => value !== ''));
  history.replaceState(null, '', filters.size === 0 ? location.pathname : `?${filters}`);
  filters.set('limit', '200');
  return loadFiltered((signal) => sendRequest('GET', `${path}?${filters}`, undefined, signal), show);
}

/** Time in UTC, without the date if it is today. */
function shortTime(text) {
  const isToday = text.slice(0, 10) === new Date().toISOString().slice(0, 10);
  const time = utcTime(text);
  return html`<time datetime=${text} title=${text}>${isToday ? time.slice(11) : time}</time>`;
}

/** The name of a key, which leads to its page, or an id that is none of a key. */
function keyLink({ key, name }) {
  return name === undefined ? html`<code>${key}</code>` : html`<a href="/keys#${key}" title=${key}>${name}</a>`;
}
