import { htmlPage } from './html-page.ts';
import type { Offer } from './offers.ts';
import type { Behaviour } from './station-images.ts';

const actions: Record<Behaviour, { button: string; what: string }> = {
  good: { button: 'a good release', what: 'The station installs it, and it runs.' },
  crashes: {
    button: 'a release that crashes',
    what: 'It ends soon after each start. The station rolls back.',
  },
  unhealthy: {
    button: 'a release that never becomes healthy',
    what: 'It runs, but its health check fails. The station waits, then rolls back.',
  },
  missing: {
    button: 'a release whose image is missing',
    what: 'It cannot be downloaded. The station keeps its release.',
  },
};

const behaviourNames: Record<Behaviour, string> = {
  good: 'good',
  crashes: 'crashes',
  unhealthy: 'never healthy',
  missing: 'image missing',
};

/** The page that offers releases. */
export function controlPage(state: {
  offers: readonly Offer[];
  plugged: boolean;
  next: string;
  station: string | null;
  link: { path: string; title: string } | null;
}): string {
  const { offers, plugged, next, station, link } = state;
  const [latest] = offers;
  const offerForms = Object.entries(actions).map(
    ([behaviour, { button, what }]) =>
      `<form method="post" action="/offers/${behaviour}"><button>Offer ${next}: ${button}</button><p>${what}</p></form>`,
  );
  const rows = offers
    .slice(0, 10)
    .map(
      ({ version, behaviour, at }) =>
        `<tr><td>${version}<td>${behaviourNames[behaviour]}<td>${at.slice(0, 19).replace('T', ' ')} UTC`,
    );
  const plug = plugged
    ? '<form method="post" action="/unplug"><button>Unplug the release server</button><p>It then does not answer, as without internet. A rollback still works.</p></form>'
    : '<form method="post" action="/plug-in"><button>Plug the release server in again</button></form>';
  return htmlPage(
    'Release server',
    `<p>This server replaces the one on the internet from which a station gets its releases.
${station === null ? '' : `<p>The station: <a href="${station}">${station}</a>. It installs a release when you press “Update” there.`}
${link === null ? '' : `<p><a href="${link.path}">${link.title}</a>`}
${plugged ? '' : '<p class="off" role="status"><strong>Unplugged.</strong> The station cannot reach this server now.'}
<p role="status">On offer: <strong>${latest?.version ?? 'nothing'}</strong> (${latest ? behaviourNames[latest.behaviour] : ''})
<h2>Offer the next release</h2>
${offerForms.join('\n')}
<h2>Connection</h2>
${plug}
<h2>Offered so far</h2>
<table><thead><tr><th>Release<th>Behaviour<th>Offered at</thead><tbody>
${rows.join('\n')}
</tbody></table>`,
  );
}
