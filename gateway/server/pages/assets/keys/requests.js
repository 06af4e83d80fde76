'use strict';

let token = '';
let isRunning = false;

/** An error response of the admin API. */
class RequestError extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
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
  if (!response.ok) throw new RequestError(result.error?.message ?? `HTTP ${response.status}`, result.error?.field);
  return result;
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
