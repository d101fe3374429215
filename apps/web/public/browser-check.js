// Says in place of an empty page that the browser is too old. For any browser: ES3. `AbortSignal.any` came with the oldest browsers of
// `build.target` in vite.config.ts.
(function () {
  if (window.AbortSignal && AbortSignal.any) return;
  var texts = {
    en: ['This browser is too old', 'Station needs Chrome or Edge 116, Firefox 124 or Safari 17.4, or a newer one.'],
    de: ['Dieser Browser ist zu alt', 'Station braucht Chrome oder Edge 116, Firefox 124 oder Safari 17.4 oder neuer.'],
    pl: [
      'Ta przeglądarka jest za stara',
      'Station wymaga Chrome lub Edge 116, Firefox 124 albo Safari 17.4, lub nowszej.',
    ],
    uk: ['Цей браузер застарий', 'Station потребує Chrome чи Edge 116, Firefox 124 або Safari 17.4 чи новішого.'],
  };
  var language = String(navigator.language || 'en').slice(0, 2);
  var text = Object.prototype.hasOwnProperty.call(texts, language) ? texts[language] : texts.en;
  var say = function (name, words) {
    var element = document.createElement(name);
    element.appendChild(document.createTextNode(words));
    document.body.appendChild(element);
  };
  document.body.innerHTML = '';
  say('h1', text[0]);
  say('p', text[1]);
})();
