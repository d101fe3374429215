// Says in place of an empty page that the browser is too old. For browsers of the last ten years: no syntax that is newer.
// `AbortSignal.any` came with the oldest browsers of `build.target` in vite.config.ts.
(function () {
  if (window.AbortSignal && AbortSignal.any) return;
  const texts = {
    en: ['This browser is too old', 'Station needs Chrome or Edge 116, Firefox 124 or Safari 17.4, or a newer one.'],
    de: ['Dieser Browser ist zu alt', 'Station braucht Chrome oder Edge 116, Firefox 124 oder Safari 17.4 oder neuer.'],
    pl: [
      'Ta przeglądarka jest za stara',
      'Station wymaga Chrome lub Edge 116, Firefox 124 albo Safari 17.4, lub nowszej.',
    ],
    uk: ['Цей браузер застарий', 'Station потребує Chrome чи Edge 116, Firefox 124 або Safari 17.4 чи новішого.'],
  };
  const language = String(navigator.language || 'en').slice(0, 2);
  const text = Object.prototype.hasOwnProperty.call(texts, language) ? texts[language] : texts.en;
  const say = function (name, words) {
    const element = document.createElement(name);
    element.appendChild(document.createTextNode(words));
    document.body.appendChild(element);
  };
  document.body.innerHTML = '';
  say('h1', text[0]);
  say('p', text[1]);
})();
