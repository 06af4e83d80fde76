'use strict';

/** Where the browser keeps the token until its tab is closed. */
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

/**
 * Opens the page with the token of this browser tab, or when its user enters one. A reload and the other pages of the tab
 * need no second entry.
 * @param open called with a valid token; throws RequestError for an invalid one
 */
function openSession(open) {
  const openWith = async (given) => {
    token = given;
    try {
      await open();
    } catch (error) {
      token = '';
      if (error.status === 401) sessionStorage.removeItem(STORED_TOKEN);
      throw error;
    }
    sessionStorage.setItem(STORED_TOKEN, given);
    byId('login').hidden = true;
    byId('token').value = '';
    byId('session').hidden = false;
  };
  onSubmit('login', () => openWith(byId('token').value.trim()));
  byId('sign-out').addEventListener('click', () => {
    sessionStorage.removeItem(STORED_TOKEN);
    location.replace(location.pathname);
  });
  const stored = sessionStorage.getItem(STORED_TOKEN);
  if (stored !== null) void run(() => openWith(stored), byId('login'));
}

/**
 * Runs the action of a form or a button, one at a time, and shows its message. Errors are shown beside their fields, or
 * as the message.
 */
async function run(action, form) {
  if (isRunning) return;
  isRunning = true;
  showMessage('');
  if (form !== undefined) clearErrors(form);
  try {
    showMessage((await action()) ?? '');
  } catch (error) {
    if (form === undefined || !showErrors(form, error)) showMessage(error.message, 'bad');
  }
  isRunning = false;
}

function showMessage(text, style = 'good') {
  byId('message').className = style;
  byId('message').textContent = text;
}

function onSubmit(id, action) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void run(action, byId(id));
  });
}

/** Appends the gateway's warnings to a message. */
function withWarnings(message, { warnings = [] }) {
  return [message, ...warnings.map((warning) => `Warning: ${warning}.`)].join(' ');
}

function showError(input, text) {
  byId(`${input.id}-error`).textContent = text;
  input.setAttribute('aria-invalid', 'true');
  describe(input, 'error', 'hint');
  input.focus();
  return true;
}

function clearErrors(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    describe(input, 'hint');
    byId(`${input.id}-error`).textContent = '';
  }
}

/** Links an input to those of its texts that exist. */
function describe(input, ...kinds) {
  const ids = kinds.map((kind) => `${input.id}-${kind}`).filter((id) => byId(id) !== null);
  if (ids.length === 0) input.removeAttribute('aria-describedby');
  else input.setAttribute('aria-describedby', ids.join(' '));
}
