'use strict';

/** The filters of a form: each input has the name of a parameter. */
function readFilters(form) {
  const entries = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  return new URLSearchParams(entries.filter(([, value]) => value !== ''));
}

/** Fills the form from the page's address. */
function fillFilters(form) {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const input = form.elements.namedItem(name);
    if (input !== null) input.value = value;
  }
}

/** Loads rows of the admin API by the filters of a form, which the page's address then has. */
async function loadRows(path, form) {
  const filters = readFilters(form);
  history.replaceState(null, '', filters.size === 0 ? location.pathname : `?${filters}`);
  filters.set('limit', '200');
  return sendRequest('GET', `${path}?${filters}`);
}

/** In UTC; a time of today is shown without its date. */
function shortTime(text) {
  const isToday = text.slice(0, 10) === new Date().toISOString().slice(0, 10);
  const time = utcTime(text);
  return element('time', { datetime: text, title: text }, isToday ? time.slice(11) : time);
}

/** Suggests the values that rows have for a filter. */
function suggestValues(id, values) {
  const known = [...new Set(values.filter((value) => value !== undefined))].sort().slice(0, 200);
  byId(id).replaceChildren(...known.map((value) => element('option', { value })));
}

/** The token is the only field whose errors have a place. */
function showErrors(form, error) {
  return form.id === 'login' && showError(byId('token'), error.message);
}
