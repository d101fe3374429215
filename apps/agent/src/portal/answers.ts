import type { PortalActions } from '../core/hotspot-ports.ts';
import { type AccessProblem, decideAccess, needsOf, readTyped } from './code-decide.ts';
import type { CodeGuard } from './code-guard.ts';
import { pageHeaders } from './html.ts';
import { readChosen, readForm, readJoinForm } from './join-form.ts';
import { renderRedirect, renderSearching, renderTrouble, renderTrying } from './other-pages.ts';
import { type PageState, renderPage, untouched } from './page.ts';
import { type Answer, authorityOf, pickLanguage, type Place } from './portal-decide.ts';
import { texts } from './texts.ts';
import type { Texts } from './texts/portal-texts.ts';

export type Response = { status: number; headers: Readonly<Record<string, string>>; body: string };

/** The portal's responses, independent of HTTP connections. */
export type Answers = {
  /** Answers that need no body. */
  to(answer: Exclude<Answer, { kind: 'form' }>, acceptLanguage: string | null): Response;
  /** @param body null when it was larger than is taken. */
  toForm(action: 'join' | 'search' | 'show', body: Uint8Array | null, acceptLanguage: string | null): Promise<Response>;
  /** After an unexpected error. */
  broken(acceptLanguage: string | null): Response;
};

/**
 * Pages for people have status 200, even for an invalid form: captive-portal sheets replace a page of any other status with
 * their own text. Only requests that no form of ours can send get 4xx.
 */
export function createAnswers(parts: { place: Place; actions: PortalActions; guard: CodeGuard }): Answers {
  const { actions, guard } = parts;
  const portal: Portal = { actions, guard, startUrl: `http://${authorityOf(parts.place)}/`, searches: 0 };
  return {
    to: (answer, acceptLanguage) => respond(portal, answer, acceptLanguage),
    toForm: async (action, body, acceptLanguage) => {
      const form = body === null ? null : readForm(body);
      const words = texts[pickLanguage(form?.get('lang'), acceptLanguage)];
      actions.seen();
      if (body === null) return page(renderTrouble(words, words.refused.too_large, portal.startUrl), 413);
      if (form === null) return startPage(portal, words, { ...untouched, problem: 'form_unreadable' });
      if (action === 'join') return join(portal, words, form);
      if (action === 'show') {
        const chosen = readChosen(form, actions.view().networks);
        return startPage(portal, words, { ...untouched, chosen, typed: readTyped(form), isPasswordShown: true });
      }
      search(portal);
      return seeOther(`${portal.startUrl}searching?lang=${words.language}`);
    },
    broken: (acceptLanguage) => {
      const words = texts[pickLanguage(null, acceptLanguage)];
      return page(renderTrouble(words, words.refused.broken, portal.startUrl), 500);
    },
  };
}

type Portal = {
  actions: PortalActions;
  guard: CodeGuard;
  startUrl: string;
  /** Searches that were requested here and have not ended. */
  searches: number;
};

function respond(portal: Portal, answer: Exclude<Answer, { kind: 'form' }>, acceptLanguage: string | null): Response {
  const { actions, startUrl } = portal;
  if (answer.kind === 'redirect') return redirect(startUrl);
  if (answer.kind === 'state') return plainText(200, actions.view().joining === null ? 'ready' : 'joining');
  if (answer.kind === 'nothing') return plainText(404, 'Nothing here.\n');
  const words = texts[pickLanguage('query' in answer ? answer.query.get('lang') : null, acceptLanguage)];
  if (answer.kind === 'refused') return page(renderTrouble(words, words.refused[answer.reason], startUrl), 403);
  if (answer.byPerson) actions.seen();
  if (answer.kind === 'page') return startPage(portal, words, untouched);
  const isSearching = portal.searches > 0 || actions.view().isLooking;
  return isSearching ? page(renderSearching(words)) : seeOther(`${startUrl}?lang=${words.language}`);
}

function startPage({ actions }: Portal, words: Texts, state: PageState): Response {
  const view = actions.view();
  if (view.joining !== null) return page(renderTrying(words, view, view.joining, false));
  const isBlank = view.isLooking && view.networks.length === 0 && state === untouched && view.lastJoin === null;
  return page(isBlank ? renderSearching(words) : renderPage(words, view, state));
}

async function join(portal: Portal, words: Texts, form: ReadonlyMap<string, string>): Promise<Response> {
  const { actions, startUrl } = portal;
  const typed = readTyped(form);
  const chosen = readChosen(form, actions.view().networks);
  const refusal = await refuse(portal, form);
  if (refusal !== null) return startPage(portal, words, { ...untouched, ...refusal, chosen, typed });
  const view = actions.view();
  const reading = readJoinForm(form, view.networks);
  if (reading.kind === 'invalid')
    return startPage(portal, words, { ...untouched, problem: reading.problem, chosen: reading.chosen, typed });
  if (actions.join(reading.request) === 'accepted') return page(renderTrying(words, view, reading.request.ssid, false));
  const { joining } = actions.view();
  // The hotspot ends for a known network, not for a join from here.
  return page(
    joining === null ? renderTrouble(words, words.leaving, startUrl) : renderTrying(words, view, joining, true),
  );
}

/** Why a form does not count: an open hotspot lets everybody near it send one. Null: it counts. */
async function refuse(
  { actions, guard }: Portal,
  form: ReadonlyMap<string, string>,
): Promise<{ problem: AccessProblem; numbers: Record<string, string> } | null> {
  const typed = readTyped(form);
  const access = decideAccess(needsOf(actions.view()), typed);
  if (access.kind === 'ok') return null;
  if (access.kind === 'refused') return { problem: access.problem, numbers: {} };
  const verdict = await guard.check(typed.code);
  if (verdict.kind === 'right') return null;
  const minutes = String(Math.ceil(verdict.retryInMs / 60_000));
  if (verdict.kind === 'wrong' && verdict.left > 0) {
    return { problem: 'code_wrong', numbers: { left: String(verdict.left) } };
  }
  return { problem: 'code_closed', numbers: { minutes } };
}

function search(portal: Portal): void {
  portal.searches += 1;
  const done = (): void => void (portal.searches -= 1);
  portal.actions.rescan().then(done, done);
}

const page = (body: string, status = 200): Response => ({ status, headers: pageHeaders, body });

const plainText = (status: number, body: string): Response => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' },
  body,
});

/** The only response to probes: a redirect to an absolute address, never cached, with a non-empty body. */
const redirect = (url: string): Response => ({ ...seeOther(url), status: 302 });

/** After a form: redirects the browser to a GET, so that a reload does not send the form again. */
const seeOther = (url: string): Response => ({
  status: 303,
  headers: { Location: url, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
  body: renderRedirect(url),
});
