import { isFree, longestWifiPassword, type Security } from '@station/protocol/wifi-password';
import { type Network, describeSsid, ssidToText, type SsidHex } from '../core/wifi-network.ts';
import type { PortalView } from '../core/hotspot-ports.ts';
import { type AccessProblem, longestCode, needsOf, nothingTyped, type Typed } from './code-decide.ts';
import { escapeHtml, fill, fillText, html, nothing, plain, renderDocument, type Html } from './html.ts';
import {
  otherSecurities,
  otherValue,
  radioValue,
  type Chosen,
  type FormProblem,
  type OtherSecurity,
} from './join-form.ts';
import type { Texts, Trouble } from './texts/portal-texts.ts';

/** What the start page shows besides what the watchdog knows. */
export type PageState = {
  /** What is wrong with the submitted form; null: nothing, or no form was sent. */
  problem: FormProblem | AccessProblem | null;
  /** Filled in in the text of the problem. */
  numbers: Readonly<Record<string, string>>;
  chosen: Chosen | null;
  typed: Typed;
  /** The person asked to see the password while typing, in a browser without script. */
  isPasswordShown: boolean;
};

export const untouched: PageState = {
  problem: null,
  numbers: {},
  chosen: null,
  typed: nothingTyped,
  isPasswordShown: false,
};

/** The whole page must stay within 30 kB; names of 32 bytes can be long in HTML. */
const listBudgetBytes = 16_000;

/** The page with the list of networks. */
export function renderPage(texts: Texts, view: PortalView, state: PageState): string {
  const trouble = troubleOf(texts, view, state);
  const chosen = state.chosen ?? (state.problem === null ? chosenByLastJoin(view) : null);
  const title = trouble === null ? texts.title : `${fillText(trouble.title, trouble.names)} – ${texts.title}`;
  const main = html`<h1>${plain(texts.title)}</h1>
    ${trouble === null ? html`<p class="soft">${fill(texts.intro, { hotspot: describeSsid(view.hotspotSsid) })}</p>` : renderTroubleBox(trouble)}
    ${view.isOpen ? html`<p class="note"><b>${plain(texts.openHotspot)}</b></p>` : nothing}
    <form id="again" method="post" action="/search">${languageField(texts)}</form>
    <form method="post" action="/join" accept-charset="utf-8">
      ${languageField(texts)}
      <fieldset>
        <div class="row">
          <legend>${plain(texts.networks)}</legend>
          <button class="small" form="again">${plain(texts.search)}</button>
        </div>
        ${renderNetworks(texts, view.networks, chosen)}
      </fieldset>
      ${renderOther(texts, chosen)} ${renderPassword(texts, state, trouble !== null)}
      ${renderAccess(texts, view, state)}
      <button class="go">${plain(texts.join)}</button>
      <noscript
        ><p></p>
        <button class="small" formaction="/show">${plain(texts.showWithoutScript)}</button></noscript
      >
    </form>
    ${sprite}`;
  return renderDocument({ texts, title, main });
}

type NamedTrouble = Trouble & { names: Readonly<Record<string, string>> };

function troubleOf(texts: Texts, view: PortalView, state: PageState): NamedTrouble | null {
  if (state.problem !== null) return { ...texts.problems[state.problem], names: state.numbers };
  if (view.lastJoin === null || state.isPasswordShown) return null;
  return { ...texts.failures[view.lastJoin.failure], names: { name: describeSsid(view.lastJoin.ssid) } };
}

function chosenByLastJoin({ lastJoin }: PortalView): Chosen | null {
  if (lastJoin === null) return null;
  const { ssid, isHidden, security } = lastJoin;
  const name = isHidden ? ssidToText(ssid) : null;
  if (name !== null)
    return { kind: 'other', name, security: otherSecurities.find((one) => one === security) ?? 'auto' };
  return { kind: 'network', ssid, security };
}

// It takes the focus, so that screen readers read the error first.
const renderTroubleBox = ({ title, help, names }: NamedTrouble): Html =>
  html`<section class="fault" tabindex="-1" autofocus>
    <h2>${fill(title, names)}</h2>
    <p>${fill(help, names)}</p>
  </section>`;

const languageField = (texts: Texts): Html =>
  html`<input type="hidden" name="lang" value="${plain(texts.language)}" />`;

/** A row of the list; without a signal it is the last choice, which is out of range now. */
type Row = { ssid: SsidHex; security: Security | null; signal: number | null; isKnown: boolean };

function renderNetworks(texts: Texts, networks: readonly Network[], chosen: Chosen | null): Html {
  const rows: Row[] = networks.toSorted((a, b) => b.signal - a.signal);
  const picked = chosen?.kind === 'network' ? findRow(rows, chosen) : null;
  const render = (row: Row): Html => renderRow(texts, row, row === picked);
  const shown: Html[] = [];
  let isCut = false;
  let left = listBudgetBytes;
  // The chosen network must be in the list, however weak its signal is.
  const ordered = picked === null || rows.includes(picked) ? rows : [picked, ...rows];
  for (const row of ordered) {
    const markup = render(row);
    left -= Buffer.byteLength(markup);
    if (left >= 0 || row === picked) shown.push(markup);
    else isCut = true;
  }
  const otherRow = html`<div>
    <label class="net"
      ><input
        type="radio"
        name="ssid"
        id="other"
        value="${plain(otherValue)}"
        ${attribute('checked', chosen?.kind === 'other')}
      /><span><b>${plain(texts.other)}</b> <small>${plain(texts.otherHint)}</small></span></label
    >
  </div>`;
  return html`${networks.length === 0 ? html`<p class="soft">${plain(texts.noNetworks)}</p>` : nothing}
    <div class="list">${shown} ${otherRow}</div>
    ${isCut ? html`<p class="soft">${plain(texts.moreNetworks)}</p>` : nothing}`;
}

function findRow(rows: readonly Row[], chosen: Chosen & { kind: 'network' }): Row {
  const ofThisName = rows.filter(({ ssid }) => ssid === chosen.ssid);
  const row = ofThisName.find(({ security }) => security === chosen.security) ?? ofThisName[0];
  return row ?? { ssid: chosen.ssid, security: chosen.security, signal: null, isKnown: false };
}

function renderRow(texts: Texts, row: Row, isPicked: boolean): Html {
  const { ssid, security, signal, isKnown } = row;
  const isUsable = security !== 'enterprise' && security !== 'wep';
  const words = [
    signal === null ? texts.outOfReach : texts.signal[levelOf(signal)],
    ...(security === null ? [] : [texts.security[security]]),
    ...(isKnown ? [texts.known] : []),
  ];
  const value = radioValue({ ssid, security });
  const marks = html`${attribute('class="free"', isFree(security))}${attribute('checked', isPicked && isUsable)}${attribute('disabled', !isUsable)}`;
  const lock = isFree(security) || security === null ? nothing : icon('l');
  return html`<div>
    <label class="net"
      ><input type="radio" name="ssid" value="${plain(value)}" ${marks} /><span
        ><b><bdi>${plain(describeSsid(ssid))}</bdi></b> <small>${plain(words.join(' · '))}</small></span
      >${lock}${signal === null ? nothing : icon(levelOf(signal)[0] ?? '')}</label
    >
  </div>`;
}

const attribute = (text: string, isSet: boolean): Html => (isSet ? (` ${text}` as Html) : nothing);

function levelOf(signal: number): keyof Texts['signal'] {
  if (signal >= 75) return 'strong';
  if (signal >= 50) return 'good';
  return signal >= 30 ? 'fair' : 'weak';
}

const icon = (id: string): Html => html`<svg aria-hidden="true"><use href="#${plain(id)}" /></svg>`;

/** Drawn once and used by every row: a lock, and four bars of which one to four are full. */
const sprite = makeSprite();
function makeSprite(): Html {
  const bar = (index: number, full: number): string =>
    `<rect x="${1 + index * 5}" y="${13 - index * 4}" width="3" height="${5 + index * 4}" rx="1"${index < full ? '' : ' opacity=".25"'}/>`;
  const bars = ['w', 'f', 'g', 's'].map(
    (id, level) => `<symbol id="${id}">${[0, 1, 2, 3].map((index) => bar(index, level + 1)).join('')}</symbol>`,
  );
  const lock = `<symbol id="l"><path d="M6 9V7a4 4 0 0 1 8 0v2h1v8H5V9zm2 0h4V7a2 2 0 0 0-4 0z" fill-rule="evenodd"/></symbol>`;
  return `<svg class="sprite" aria-hidden="true">${bars.join('')}${lock}</svg>` as Html;
}

function renderOther(texts: Texts, chosen: Chosen | null): Html {
  const { name, security } = chosen?.kind === 'other' ? chosen : { name: '', security: 'auto' as OtherSecurity };
  const options = otherSecurities.map(
    (one) =>
      html`<option value="${plain(one)}" ${attribute('selected', one === security)}>
        ${plain(texts.otherSecurities[one])}
      </option>`,
  );
  return html`<div class="others">
    <div class="field">
      <label class="top" for="name">${plain(texts.name)}</label>
      <input
        type="text"
        id="name"
        name="name"
        value="${escapeHtml(name)}"
        maxlength="32"
        autocomplete="off"
        autocapitalize="none"
        autocorrect="off"
        spellcheck="false"
        aria-describedby="name-hint"
      />
      <div class="hint" id="name-hint">${plain(texts.nameHint)}</div>
    </div>
    <div class="field">
      <label class="top" for="security">${plain(texts.otherSecurity)}</label>
      <select id="security" name="security">
        ${options}
      </select>
    </div>
  </div>`;
}

function renderPassword(texts: Texts, { isPasswordShown }: PageState, isAgain: boolean): Html {
  const hint = isAgain || isPasswordShown ? `${texts.passwordAgain} ${texts.passwordHint}` : texts.passwordHint;
  return html`<div class="field secret">
    <label class="top" for="password">${plain(texts.password)}</label>
    <div class="row">
      <input
        type="${plain(isPasswordShown ? 'text' : 'password')}"
        id="password"
        name="password"
        maxlength="${plain(String(longestWifiPassword))}"
        autocomplete="off"
        autocapitalize="none"
        autocorrect="off"
        spellcheck="false"
        aria-describedby="password-hint"
        data-show="${plain(texts.show)}"
        data-hide="${plain(texts.hide)}"
      />
    </div>
    <div class="hint" id="password-hint">${plain(hint)}</div>
  </div>`;
}

/** What an open hotspot asks for: the code of the station, and that the person knows who can read along. */
function renderAccess(texts: Texts, view: PortalView, { typed, problem }: PageState): Html {
  const needs = needsOf(view);
  const isCodeWrong = problem === 'code_missing' || problem === 'code_wrong';
  const code = html`<div class="field">
    <label class="top" for="code">${plain(texts.code)}</label>
    <input
      type="text"
      id="code"
      name="code"
      value="${escapeHtml(typed.code)}"
      maxlength="${plain(String(longestCode))}"
      required
      autocomplete="off"
      autocapitalize="characters"
      autocorrect="off"
      spellcheck="false"
      aria-describedby="code-hint"
      ${attribute('aria-invalid="true"', isCodeWrong)}
    />
    <div class="hint" id="code-hint">${plain(texts.codeHint)}</div>
  </div>`;
  const confirmation = html`<label class="sure"
    ><input type="checkbox" name="confirm" value="yes" required ${attribute('checked', typed.isConfirmed)} /><span
      >${plain(texts.confirm)}</span
    ></label
  >`;
  return html`${needs.code ? code : nothing}${needs.confirmation ? confirmation : nothing}`;
}
