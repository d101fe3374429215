import type { Language } from '@station/protocol/languages';
import type { PortalView } from '../core/hotspot-ports.ts';
import { describeSsid, type SsidHex } from '../core/wifi-network.ts';
import { fill, fillText, html, nothing, plain, renderDocument, type Html } from './html.ts';
import type { Texts, Trouble } from './texts/portal-texts.ts';

const startPage = (language: Language): string => `/?lang=${language}`;
const wait = '<div class="wait" aria-hidden="true"><i></i></div>' as Html;

/** Seconds after which the search page reloads. */
const searchRefresh = 2;
/**
 * Seconds after which, without script, the join page returns to the start page. By then the hotspot is off, or is back with the
 * phone in it: earlier, the phone would replace this page with its own error.
 */
const joinRefresh = 45;

const refreshTo = (seconds: number, path: string): Html =>
  html`<meta http-equiv="refresh" content="${plain(`${seconds};url=${path}`)}" />`;

/** Shown while the station searches. The hotspot stays, so the page can reload automatically. */
export function renderSearching(texts: Texts): string {
  const { title, text, link } = texts.searching;
  const path = `/searching?lang=${texts.language}`;
  const main = html`<h1>${plain(title)}</h1>
    ${wait}
    <p role="status">${plain(text)}</p>
    <p><a class="button" href="${plain(path)}">${plain(link)}</a></p>`;
  return renderDocument({ texts, title, head: refreshTo(searchRefresh, path), main });
}

/**
 * The last page before the hotspot ends: what happens next, and what to do when this page is gone.
 * @param isBusy the network is one that was being tried already.
 */
export function renderTrying(texts: Texts, view: PortalView, ssid: SsidHex, isBusy: boolean): string {
  const { title, waiting, goesAway, works, fails, look, busy } = texts.trying;
  const names = { name: describeSsid(ssid), hotspot: describeSsid(view.hotspotSsid) };
  const back = startPage(texts.language);
  const main = html`<h1>${fill(title, names)}</h1>
    ${wait} ${isBusy ? html`<p><b>${plain(busy)}</b></p>` : nothing}
    <p role="status" data-back="${plain(back)}">${plain(waiting)}</p>
    <ol>
      <li>${fill(goesAway, names)}</li>
      <li>
        ${fill(works, names)} <a href="${plain(view.stationAddress)}"><b>${plain(view.stationAddress)}</b></a>
      </li>
      <li>${fill(fails, names)}</li>
    </ol>
    <p><a class="button" href="${plain(back)}">${plain(look)}</a></p>`;
  const head = html`<noscript>${refreshTo(joinRefresh, back)}</noscript>`;
  return renderDocument({ texts, title: fillText(title, names), head, main });
}

/** A refused request: the reason as text, and a link to the start page. */
export function renderTrouble(texts: Texts, { title, help }: Trouble, back: string): string {
  const main = html`<section class="fault">
      <h1>${plain(title)}</h1>
      <p>${fill(help, { address: back })}</p>
    </section>
    <p><a class="button" href="${plain(back)}">${plain(texts.back)}</a></p>`;
  return renderDocument({ texts, title, main });
}

/** Body of the redirect for probes. Some phones show it, and no probe may take it for a sign of internet access. */
export function renderRedirect(url: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <title>Station</title>
      </head>
      <body>
        <p><a href="${plain(url)}">Connect the station to Wi-Fi / Під’єднайте станцію до Wi-Fi</a></p>
      </body>
    </html> `;
}
